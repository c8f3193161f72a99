"""Uses the standard library's translator of line ends, which waits after a CR.

caught by: test_a_line_has_one_of_three_ends
code: waits_after_cr
"""

import codecs
import io


class Events:
    def __init__(self):
        decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self.decoder = io.IncrementalNewlineDecoder(decoder, translate=True)
        self.text, self.data = "", []

    def feed(self, data):
        found = []
        *lines, self.text = (self.text + self.decoder.decode(data)).split("\n")
        for line in lines:
            name, _, value = line.partition(":")
            if name == "data":
                self.data.append(value.removeprefix(" "))
            elif not line:
                if self.data:
                    found.append("\n".join(self.data))
                self.data = []
        return found
