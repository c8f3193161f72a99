"""The fields of one JSON body, taken one by one. What is left over in the end is not supported.

A client may send null, or the neutral default of a parameter that this server does not support;
anything else is refused by name. So no client believes that its `logit_bias` has been applied.
"""

from __future__ import annotations

import json
import re

from .errors import ApiError

MOST_DEPTH = 16  # of brackets; a request has at most 4
MOST_BRACKETS = 65_536  # that open; a message has one, and one for each of its parts
_STRINGS = re.compile(rb'"(?:[^"\\]|\\.)*"?', re.DOTALL)
_BRACKETS = re.compile(rb"[\[{]|[\]}]")
_HALVES = re.compile(rb"\\u[dD][89a-fA-F]")  # of a character beyond 16 bits

NEUTRAL: dict[str, tuple[object, ...]] = {  # not supported, but harmless with these values
    "audio": (),
    "best_of": (1,),
    "echo": (False,),
    "frequency_penalty": (0,),
    "function_call": ("none", "auto"),
    "functions": ([],),
    "length_penalty": (1,),
    "logit_bias": ({},),
    "logprobs": (False,),
    "metadata": ({},),
    "min_p": (0,),
    "min_tokens": (0,),
    "modalities": (["text"],),
    "parallel_tool_calls": (True, False),
    "prediction": (),
    "presence_penalty": (0,),
    "reasoning_effort": ("none",),
    "repetition_penalty": (1,),
    "response_format": ({"type": "text"},),
    "service_tier": ("auto", "default"),
    "skip_special_tokens": (True,),
    "store": (False,),
    "suffix": ("",),
    "tool_choice": ("none", "auto"),
    "tools": ([],),
    "top_logprobs": (0,),
    "use_beam_search": (False,),
    "verbosity": ("medium",),
    "web_search_options": (),
}


def read_json(body: bytes | bytearray) -> dict[str, object]:
    """The JSON object of a body. Raises ApiError if it is none, nested too deep, or has too
    many lists and objects."""
    depth, bare = 0, _STRINGS.sub(b"", body)
    if bare.count(b"[") + bare.count(b"{") > MOST_BRACKETS:
        raise ApiError(400, f"the JSON body has more than {MOST_BRACKETS:,} lists and objects")
    for bracket in _BRACKETS.finditer(bare):
        depth += 1 if bracket[0] in b"[{" else -1
        if depth > MOST_DEPTH:
            raise ApiError(400, f"the JSON body is nested deeper than {MOST_DEPTH} levels")
        if depth < 0:  # no JSON, which json says better
            break
    try:
        value = json.loads(body.decode("utf-8"), parse_constant=_refuse_constant)
        if _HALVES.search(body):  # one without the other could not be hashed or written
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except ValueError as error:  # UnicodeDecodeError and JSONDecodeError, too
        raise ApiError(400, f"the body is not JSON in UTF-8: {error}") from error
    if not isinstance(value, dict):
        raise ApiError(400, f"the JSON body is {_name(value)}; give an object: {{...}}")
    return value


class Fields:
    """A JSON object whose fields are taken by name. `path` names the object in messages."""

    def __init__(self, body: dict[str, object], path: str = "") -> None:
        self._left, self._path = dict(body), path

    def take(self, name: str) -> object:
        """The value as it is; None if it is absent or null."""
        return self._left.pop(name, None)

    def text(self, name: str) -> str | None:
        """A string, or None."""
        value = self.take(name)
        if not isinstance(value, str | None):
            raise self.error(name, f"is {_name(value)}; give a string")
        return value

    def flag(self, name: str) -> bool:
        """true or false; absent is false."""
        value = self.take(name)
        if not isinstance(value, bool | None):
            raise self.error(name, f"is {_name(value)}; give true or false")
        return bool(value)

    def integer(self, name: str, default: int | None, least: int, most: int) -> int | None:
        """A whole number between two bounds, or the default."""
        value = self.take(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.error(name, f"is {_name(value)}; give a whole number")
        return self._within(name, value, least, most)

    def number(self, name: str, default: float, least: float, most: float) -> float:
        """A number between two bounds, or the default."""
        value = self.take(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.error(name, f"is {_name(value)}; give a number")
        return self._within(name, value, least, most)

    def texts(self, name: str, most: int) -> tuple[str, ...]:
        """A string or a list of at most so many; none of them may be empty."""
        value = self.take(name)
        several = [] if value is None else value if isinstance(value, list) else [value]
        if len(several) > most:
            raise self.error(name, f"has {len(several)} entries; give at most {most}")
        for each in several:
            if not isinstance(each, str) or not each:
                raise self.error(name, f"has {_name(each)} in it; give strings that are not empty")
        return tuple(several)

    def refuse_rest(self) -> None:
        """Raises ApiError for the first field left that is neither null nor neutral."""
        for name, value in self._left.items():
            if value is None or any(_same(value, neutral) for neutral in NEUTRAL.get(name, ())):
                continue
            known = name in NEUTRAL
            why = (
                f"is {_name(value)}, which this server does not support" if known else "is unknown"
            )
            raise self.error(name, f"{why}; leave it out")

    def error(self, name: str, message: str) -> ApiError:
        """The error for one of the fields."""
        return ApiError(400, f"{self._path}{name} {message}", param=f"{self._path}{name}")

    def _within(self, name: str, value, least, most):
        if not least <= value <= most:
            raise self.error(name, f"is {value}; give {least} to {most}")
        return value


def _same(value: object, neutral: object) -> bool:
    """Equal, where true is not 1 and false is not 0; but 0.0 is 0."""
    return isinstance(value, bool) == isinstance(neutral, bool) and value == neutral


def _name(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
