"""Text of strangers, made fit to be shown and stored anywhere.

A learner's message may hold half a character that no file takes, the controls that wipe a terminal,
or those that turn a line round. None of them reaches a report: they stand there as "\\x1b".
"""

from __future__ import annotations

import re

# Controls but for tab and line feed; what sets the direction or is not seen; halves of characters.
_UNFIT = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)


def plain(text: str) -> str:
    """The same, with what is not fit written out, and line feeds alone at the ends of lines."""
    text = text.replace("\r\n", "\n")
    return _UNFIT.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def all_plain(value: object) -> object:
    """A value as JSON gives it, with every text in it plain. Raises RecursionError if too deep."""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, list):
        return [all_plain(item) for item in value]
    if isinstance(value, dict):
        return {plain(key): all_plain(item) for key, item in value.items()}
    return value
