"""Splits by str.splitlines.

caught by: test_an_event_is_its_lines_of_data
code: splits_at_other_characters
"""


class Events:
    def __init__(self):
        self.text, self.data = "", []

    def feed(self, data):
        found = []
        self.text += data.decode("utf-8", "replace")
        *lines, self.text = self.text.splitlines(keepends=True) or [""]
        if self.text.endswith(("\n", "\r")):
            lines, self.text = [*lines, self.text], ""
        for line in lines:
            name, _, value = line.rstrip("\r\n\x0b\x0c\x1c\x85\u2028\u2029").partition(":")
            if name == "data":
                self.data.append(value.removeprefix(" "))
            elif not name and not value and not line.startswith(":"):
                if self.data:
                    found.append("\n".join(self.data))
                self.data = []
        return found
