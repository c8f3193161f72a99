"""Keeps what is left in the class.

caught by: test_an_event_is_its_lines_of_data
code: streams_share_their_state
"""

import codecs


class Events:
    line, data = [], []

    def __init__(self):
        self.decode = codecs.getincrementaldecoder("utf-8-sig")("replace").decode
        self.after_cr = False

    def feed(self, data):
        found = []
        for letter in self.decode(data):
            belongs_to_cr = letter == "\n" and self.after_cr
            self.after_cr = letter == "\r"
            if belongs_to_cr:
                continue
            if letter not in "\r\n":
                self.line.append(letter)
                continue
            line = "".join(self.line)
            self.line.clear()
            name, _, value = line.partition(":")
            if name == "data":
                self.data.append(value.removeprefix(" "))
            if not line and self.data:
                found.append("\n".join(self.data))
            if not line:
                self.data.clear()
        return found
