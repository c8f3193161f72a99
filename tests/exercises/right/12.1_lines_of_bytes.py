"""Cuts lines from the bytes, and decodes whole lines."""

import re


class Events:
    def __init__(self):
        self.buffer, self.values = b"", []
        self.first, self.skip = True, False

    def feed(self, data):
        found, self.buffer = [], self.buffer + data
        while True:
            if self.skip and self.buffer:
                self.buffer, self.skip = self.buffer.removeprefix(b"\n"), False
            end = re.search(rb"\r\n|\r|\n", self.buffer)
            if end is None:
                return found
            line, self.buffer = self.buffer[: end.start()], self.buffer[end.end() :]
            self.skip = end[0] == b"\r"
            if self.first:
                line, self.first = line.removeprefix(b"\xef\xbb\xbf"), False
            text = line.decode("utf-8", "replace")
            if text == "":
                found += ["\n".join(self.values)] if self.values else []
                self.values = []
            elif text == "data" or text.startswith("data:"):
                self.values.append(text[5:][text[5:6] == " " :])
