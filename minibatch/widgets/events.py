"""What happened in a step, as a sentence: which requests left, joined, or generated a token.

step 21: A left (20 tokens). A2 joins slot 0: 80 tokens of prompt; seven others write one each.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..core.records import RowRecord, StepRecord
from .run_film import Film

MOST_NAMES = 3  # in a sentence; more are only counted
NUMBERS = ["no", "one", "two", "three", "four", "five", "six"]
NUMBERS += ["seven", "eight", "nine", "ten", "eleven", "twelve"]


def step_text(film: Film, position: int, slot: str = "slot") -> str:
    """What happened in the step that led to frame `position` of the film; "" before the first.

    slot: the word for a place in the batch."""
    frame = film.frames[position]
    if frame.record is None:
        return ""
    before = film.frames[position - 1]
    sentences = [
        *_departures(before.record, frame.record, frame.num_output_tokens),
        _row_sentence(frame.record, frame.num_output_tokens, slot),
    ]
    if position == film.last and not film.engine.has_work:
        total = len(frame.finished)
        sentences.append(f"All {number(total)} have finished" if total > 1 else "That was all")
    return " ".join(f"{_capital(sentence)}." for sentence in sentences if sentence)


def _capital(sentence: str) -> str:
    """A number at the start of a sentence is capitalised; a request id stays as it is."""
    is_number = sentence.split()[0] in NUMBERS
    return sentence[0].upper() + sentence[1:] if is_number else sentence


def _departures(
    before: StepRecord | None, now: StepRecord, counts: dict[str, int]
) -> Sequence[str]:
    """Sentences on requests that left since the step before, finished but stay, or are
    preempted."""
    if before is None:
        return []
    here = {row.request_id for row in now.rows}
    ended = {row.request_id for row in before.rows if row.kind == "padding"} | {*before.finished}
    gone = [row.request_id for row in before.rows if row.request_id in ended - here]
    kept = [name for name in before.finished if name in here]
    sentences = []
    if gone:
        sentences.append(f"{names(gone)} left{_tokens(gone, counts)}")
    if kept:
        are, slots = ("is", "its slot") if len(kept) == 1 else ("are", "their slots")
        done = f"{are} done{_tokens(kept, counts)}"
        sentences.append(f"{names(kept)} {done} and {_verb('keep', kept)} {slots}")
    if now.preempted:
        are = "is" if len(now.preempted) == 1 else "are"
        waits = _verb("wait", now.preempted)
        sentences.append(f"{names(now.preempted)} {are} preempted and {waits} again")
    return sentences


def _row_sentence(record: StepRecord, counts: dict[str, int], slot: str) -> str:
    rows = record.rows
    new = [row for row in rows if row.request_id in record.admitted]
    more = [row for row in rows if row.kind == "prefill" and row not in new]
    last = [row for row in rows if row.request_id in record.finished and row not in new]
    writing = [row for row in rows if row.kind == "decode" and row not in [*new, *last]]
    padding = [row for row in rows if row.kind == "padding"]
    parts = []
    if new:
        joins = f"joins {slot} {new[0].slot}" if len(new) == 1 else "join"
        parts.append(f"{names(_ids(new))} {joins}: {_prompt(new)}")
    if more:
        parts.append(f"{names(_ids(more))} {_verb('read', more)} {_prompt(more)} more")
    if last:
        whose = "its last token" if len(last) == 1 else "their last tokens"
        in_all = _tokens(_ids(last), counts, "in all")
        parts.append(f"{names(_ids(last))} {_verb('write', last)} {whose}{in_all}")
    if len(writing) == 1:
        parts.append(f"{writing[0].request_id} writes {'one' if parts else 'one token'}")
    elif writing:
        rest = number(len(writing))
        parts.append(f"{rest} others write one each" if parts else f"{rest} write one token each")
    if padding:
        are = "row is" if len(padding) == 1 else "rows are"
        parts.append(f"{number(len(padding))} {are} padding")
    return "; ".join(parts)


def _prompt(rows: list[RowRecord]) -> str:
    tokens = sum(row.num_tokens for row in rows)
    padding = sum(row.num_padding_tokens for row in rows)
    text = f"{tokens:,} token{'s' * (tokens != 1)} of prompt"
    return f"{text}, and {padding:,} of padding" if padding else text


def _tokens(ids: Sequence[str], counts: dict[str, int], unit: str = "tokens") -> str:
    if len(ids) > MOST_NAMES:
        return ""
    numbers = listed([f"{counts.get(name, 0):,}" for name in ids])
    return f" ({numbers} {'token' if (numbers, unit) == ('1', 'tokens') else unit})"


def _ids(rows: Sequence[RowRecord]) -> list[str]:
    return [row.request_id for row in rows]


def _verb(verb: str, subjects: Sequence[object]) -> str:
    return f"{verb}s" if len(subjects) == 1 else verb


def names(ids: Sequence[str]) -> str:
    """ "A", "A and B", "A, B and C"; for more, their number."""
    return listed(ids) if len(ids) <= MOST_NAMES else number(len(ids))


def listed(words: Sequence[str]) -> str:
    """With commas, and an "and" before the last."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def number(n: int) -> str:
    """The number in words up to twelve, then in digits."""
    return NUMBERS[n] if 0 < n < len(NUMBERS) else f"{n:,}"
