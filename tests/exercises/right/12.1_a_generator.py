"""A generator that gets letters and gives events."""

import codecs


def reader():
    """Gets a letter, gives an event's data or None."""
    data, line, before, event = [], "", "", None
    while True:
        letter = yield event
        event = None
        if letter == "\n" and before == "\r":
            before = letter
            continue
        before = letter
        if letter not in ("\r", "\n"):
            line += letter
            continue
        if line == "":
            event = "\n".join(data) if data else None
            data = []
        else:
            name, *rest = line.split(":", 1)
            if name == "data":
                value = rest[0] if rest else ""
                data.append(value[1:] if value[:1] == " " else value)
        line = ""


class Events:
    def __init__(self):
        self.decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self.reader = reader()
        next(self.reader)

    def feed(self, data):
        events = map(self.reader.send, self.decoder.decode(data))
        return tuple(event for event in events if event is not None)
