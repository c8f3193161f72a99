"""A reader of server-sent events that can be made to believe something wrong, and streams for it.

The right rules: HTML Standard, sections 9.2.5 and 9.2.6.
"""

import codecs
import re

BELIEFS = {
    "chunk": (
        "[a_chunk_is_whole] you treat a chunk as whole lines; a chunk may end anywhere, also "
        "within a line. Keep the unfinished line for the next call of `feed`."
    ),
    "letter": (
        "[decodes_each_chunk] you decode each chunk alone; the bytes of one letter may come in "
        "two chunks. Keep the first part until the rest has come, as an incremental decoder does."
    ),
    "lf": (
        "[only_line_feeds_end_lines] you end lines only at \\n; a line ends with \\n, \\r\\n or "
        "\\r."
    ),
    "no cr": (
        "[no_lone_cr] you do not end a line at a lone \\r; a line ends with \\r, too, without a "
        "\\n after it."
    ),
    "two": (
        "[crlf_is_two_ends] you treat a \\n just after a \\r as the end of an empty line, which "
        "ends the event too soon; this \\n belongs to the \\r, also in the next chunk."
    ),
    "late": (
        "[waits_after_cr] you wait for the next byte after a \\r, which may take a long time; a "
        "line has ended as soon as its \\r has come."
    ),
    "splitlines": (
        "[splits_at_other_characters] you end lines at other characters, as str.splitlines does "
        "at \\x0b, \\x0c, \\x1c, \\x85 and \\u2028; only \\n, \\r\\n and \\r end a line."
    ),
    "strip": (
        "[strips_all_spaces] you remove all spaces after the colon; remove only one space: "
        "pieces of text may begin with spaces."
    ),
    "keep": (
        "[keeps_the_space] you keep the space after the colon; one space after the colon does "
        "not belong to the value."
    ),
    "need": "[needs_the_space] you require a space after the colon; this space may be missing.",
    "last colon": (
        "[splits_at_every_colon] you split at every colon; the value is everything after the "
        "first colon, and may have colons of its own."
    ),
    "prefix": (
        "[takes_longer_names] you accept every name that begins with 'data'; a line belongs to the "
        "data only if its name is exactly 'data'."
    ),
    "case": (
        "[ignores_case] you accept 'Data' as 'data'; names are case-sensitive, and 'Data' is "
        "another field."
    ),
    "no colon": (
        "[needs_a_colon] you leave out a line without a colon; such a line is a field with an "
        "empty value: 'data' alone is a line of data."
    ),
    "last": (
        "[keeps_the_last_line_only] you keep only the last line of data; an event may have several "
        "lines of data: join their values with \\n."
    ),
    "joined": (
        "[joins_without_line_feed] you join the values of several lines of data without \\n; join "
        "them with \\n."
    ),
    "each": (
        "[an_event_for_each_line] you end an event at a line of data; only an empty line ends an "
        "event."
    ),
    "empty": (
        "[gives_events_without_data] you return an event that has no line of data; leave out such "
        "an event."
    ),
    "no empty": (
        "[leaves_out_empty_data] you leave out an event whose line of data has an empty value; "
        "return '' for this event."
    ),
    "bom": (
        "[keeps_the_byte_order_mark] you keep the byte order mark, which becomes part of the "
        "first field's name; remove a byte order mark at the beginning of the stream."
    ),
    "all boms": (
        "[drops_every_mark] you remove every byte order mark; remove only the mark at the "
        "beginning of the stream: elsewhere it is an ordinary character."
    ),
    "crlf": (
        "[joins_with_crlf] you join the values of several lines of data with \\r\\n; join them "
        "with \\n alone."
    ),
    "comment": (
        "[comments_are_data] you read a comment as a field; a line that begins with a colon is a "
        "comment: leave it out."
    ),
    "again": "[gives_events_again] you return old events again; return each event once.",
    "kept": (
        "[keeps_data_of_the_last_event] you keep the data of the event before; the next event "
        "begins without data."
    ),
    "shared": (
        "[streams_share_their_state] your two objects share the rest of a chunk, in the class or "
        "the module, but they read two streams. Keep the rest in `self`."
    ),
    "order": (
        "[needs_another_field_first] you require another field before data; an event may have only "
        "data, and fields come in any order."
    ),
    "open": (
        "[gives_unfinished_events] you return an event before its empty line; an event is complete "
        "only after an empty line."
    ),
}


class Reader:
    """The right reader, or one with some of the beliefs above."""

    def __init__(self, beliefs=()):
        self.beliefs = frozenset(beliefs)
        mark = "utf-8" if self.believes("bom") else "utf-8-sig"
        self.decoder = codecs.getincrementaldecoder(mark)("replace")
        self.text, self.data, self.given = "", [], []
        self.has_another_field = False
        self.after_cr = False

    def believes(self, belief):
        return belief in self.beliefs

    def feed(self, data):
        if self.believes("letter"):
            self.text += data.decode("utf-8", "replace").removeprefix("\ufeff")
        else:
            self.text += self.decoder.decode(data)
        if self.believes("all boms"):
            self.text = self.text.replace("\ufeff", "")
        found = []
        while (line := self.next_line()) is not None:
            found += self.take(line)
        if self.believes("chunk") and self.text:
            found += self.take(self.text)
            self.text = ""
        if self.believes("open") and self.data:
            found.append("\n".join(self.data))
            self.data = []
        self.given += found
        return list(self.given) if self.believes("again") else found

    def next_line(self):
        """The next line of the text; None if it has not ended yet."""
        if self.after_cr and self.text and not self.believes("two"):
            self.text, self.after_cr = self.text.removeprefix("\n"), False
        ends = "\r\n|\r|\n"
        if self.believes("two"):
            ends = "\r|\n"
        if self.believes("lf"):
            ends = "\n"
        if self.believes("no cr"):
            ends = "\r\n|\n"
        if self.believes("splitlines"):
            ends = "\r\n|[\r\n\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029]"
        found = re.search(ends, self.text)
        if found is None or (self.believes("late") and found[0] == "\r" and not self.rest(found)):
            return None
        line, self.text = self.text[: found.start()], self.rest(found)
        self.after_cr = found[0] == "\r"
        return line

    def rest(self, found):
        return self.text[found.end() :]

    def take(self, line):
        """The events that this line ends: one or none."""
        if not line:
            self.has_another_field = False
            data, self.data = self.data, self.data if self.believes("kept") else []
            kept = data or self.believes("empty")
            if self.believes("no empty"):
                kept = any(data)
            joint = "" if self.believes("joined") else "\r\n" if self.believes("crlf") else "\n"
            return [joint.join(data)] if kept else []
        name, colon, value = line.partition(":")
        if self.believes("last colon"):
            value = line.split(":")[1] if colon else ""
        if self.believes("case"):
            name = name.lower()
        if self.believes("prefix") and name.startswith("data"):
            name = "data"
        if self.believes("need") and not value.startswith(" "):
            name = ""
        if self.believes("no colon") and not colon:
            name = ""
        if self.believes("comment") and not name:
            name = "data"
        if name != "data":
            self.has_another_field |= name != ""
            return []
        if self.believes("order") and not self.has_another_field:
            return []
        if self.believes("strip"):
            value = value.lstrip()
        elif not self.believes("keep"):
            value = value.removeprefix(" ")
        if self.believes("each"):
            return [value]
        self.data = [value] if self.believes("last") else [*self.data, value]
        return []


def read(chunks, beliefs=()):
    """What feed returns for each chunk."""
    reader = Reader(beliefs)
    return [reader.feed(chunk) for chunk in chunks]


def cut(data, *places):
    """The bytes in chunks that end at these places."""
    ends = [0, *places, len(data)]
    return [data[a:b] for a, b in zip(ends, ends[1:], strict=False)]


def by_bytes(data):
    return [data[i : i + 1] for i in range(len(data))]
