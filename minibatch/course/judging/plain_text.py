"""Escapes characters in a learner's text, so that it can be shown and stored anywhere.

A learner's message may contain half of a surrogate pair, which cannot be written to a file, control
characters that clear a terminal, or ones that reverse a line. A report has escapes, as "\\x1b".
"""

from __future__ import annotations

import re

# Control characters except tab and line feed; direction marks; invisible ones; surrogates.
_UNFIT = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)


def plain(text: str) -> str:
    """The text with such characters escaped, and only line feeds at the ends of lines."""
    text = text.replace("\r\n", "\n")
    return _UNFIT.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def all_plain(value: object) -> object:
    """A JSON value with every text in it escaped. Raises RecursionError if it is too deep."""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, list):
        return [all_plain(item) for item in value]
    if isinstance(value, dict):
        return {plain(key): all_plain(item) for key, item in value.items()}
    return value
