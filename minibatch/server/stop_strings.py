"""Ends a text at a stop string, and never shows half of one.

    text so far    "Day 1: Alfama.\nUs"        stop string "\nUser:"
    shown          "Day 1: Alfama."            "\nUs" may be its beginning, so it is held back

A stop string is not part of the answer. (OpenAI's `stop`; vLLM's output processor does the same)
"""

from __future__ import annotations


class StopStrings:
    """Filters one growing text. stops: strings that end it, none of them empty."""

    def __init__(self, stops: tuple[str, ...]) -> None:
        self.stops = stops
        self._held = ""

    def push(self, text: str) -> tuple[str, bool]:
        """The text that is certain to be shown, and whether a stop string has ended it there."""
        held = self._held + text
        places = [place for stop in self.stops if (place := held.find(stop)) >= 0]
        if places:
            self._held = ""
            return held[: min(places)], True
        end = len(held) - max((_overlap(held, stop) for stop in self.stops), default=0)
        self._held = held[end:]
        return held[:end], False

    def rest(self) -> str:
        """What is still held back, at an end without a stop string."""
        held, self._held = self._held, ""
        return held


def _overlap(text: str, stop: str) -> int:
    """How many characters at the end of the text are the beginning of the stop string."""
    longest = min(len(text), len(stop) - 1)
    return next((n for n in range(longest, 0, -1) if text.endswith(stop[:n])), 0)
