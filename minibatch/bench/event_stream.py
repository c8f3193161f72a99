"""Server-sent events out of bytes, wherever the network cut them.

The format is WHATWG's (HTML Living Standard, section 9.2.6, "Interpreting an event stream"). Lines
are split as bytes: no byte of a longer UTF-8 character is a line feed or a carriage return, so a
cut inside a character does no harm. (`str.splitlines` would be wrong here: it also splits at
U+2028, which JSON may hold.)
"""

from __future__ import annotations

from dataclasses import dataclass

MOST_BYTES = 16 * 2**20  # of one line, or of the lines of one event

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    """One event. data: its `data` lines, joined by line feeds. event: its type."""

    data: str
    event: str = "message"


class EventStream:
    """Bytes in, whole events out. An event that the stream does not end with a blank line is
    dropped, as the standard says."""

    def __init__(self) -> None:
        self._rest = b""  # of a line that has not ended
        self._after_cr = False  # a line feed would belong to the line end before it
        self._is_first = True
        self._data: list[str] = []
        self._num_bytes = 0
        self._event = ""

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """The events that this chunk completes, in order. Raises ValueError for a line or an event
        above MOST_BYTES."""
        if self._after_cr and chunk:
            chunk = chunk.removeprefix(b"\n")
            self._after_cr = False
        if not chunk:
            return []
        self._after_cr = chunk.endswith(b"\r")
        lines = (self._rest + chunk).splitlines(keepends=True)
        self._rest = b"" if lines[-1].endswith((b"\r", b"\n")) else lines.pop()
        if len(self._rest) > MOST_BYTES:
            raise ValueError(
                f"a line of {len(self._rest):,} bytes; at most {MOST_BYTES:,} are read"
            )
        return [event for line in lines if (event := self._line(line.rstrip(b"\r\n"))) is not None]

    def _line(self, line: bytes) -> ServerSentEvent | None:
        if self._is_first:
            line, self._is_first = line.removeprefix(_BOM), False
        if not line:
            return self._dispatch()
        name, _, value = line.partition(b":")
        text = value.removeprefix(b" ").decode("utf-8", errors="replace")
        if name == b"data":
            self._data.append(text)
            self._num_bytes += len(value)
            if self._num_bytes > MOST_BYTES:
                raise ValueError(
                    f"an event of {self._num_bytes:,} bytes; at most {MOST_BYTES:,} are read"
                )
        elif name == b"event":
            self._event = text
        elif name == b"error":  # no field of the standard: llama.cpp's servers before 2025 used it
            self._data, self._event = [text], "error"
        return None  # a comment has an empty name; "id" and "retry" are for reconnecting

    def _dispatch(self) -> ServerSentEvent | None:
        data, event = self._data, self._event or "message"
        self._data, self._event, self._num_bytes = [], "", 0
        return ServerSentEvent("\n".join(data), event) if data else None
