"""The text before a question: the agency's manual and the client's file, of an exact length.

<|system|>                       policy first, so that prompts share a long common prefix
  manual, section by section     `manual.md`; a short prompt leaves sections out from the end
  client file                    name, passport, diet, limit, past trips, notes
<|end|><|user|> question <|end|><|assistant|>
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from minibatch.wayfarer.clients import Client, Trip

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

GREETING = "You are the copilot of Halfmoon Travel in Amsterdam."
MIN_TRIPS = 3  # least number of past trips beside the manual, if the client has so many
Messages = list[dict[str, str]]  # as `apply_chat_template` takes them


@cache
def manual() -> tuple[str, ...]:
    """The sections of the policy manual, each "# Title" and a paragraph."""
    text = Path(__file__).with_name("manual.md").read_text(encoding="utf-8").strip()
    return tuple("# " + section.strip() for section in text.removeprefix("# ").split("\n# "))


def trip_line(trip: Trip) -> str:
    """A past trip as one line of a file."""
    return f"{trip.year}: {trip.city.name}, {trip.hotel.name}"


def client_file(client: Client) -> str:
    """The file as an agent sees it, one fact a line; headings without entries are left out."""
    lines = [
        f"Client: {client.name}",
        f"Passport: {client.passport}",
        f"Diet: {client.diet}",
        f"Hotel limit: {client.limit} euros",
    ]
    if client.trips:
        lines += ["Past trips:", *map(trip_line, client.trips)]
    if client.notes:
        lines += ["Notes:", *client.notes]
    return "\n".join(lines)


def system_prompt(client: Client | None, sections: Sequence[str] = ()) -> str:
    """Greeting, then the given sections of the manual, then the client's file."""
    file = [client_file(client)] if client else []
    return "\n".join([GREETING, *sections, *file])


def chat(system: str, query: str) -> Messages:
    """The messages of one question; an empty `system` is left out."""
    messages = [{"role": "system", "content": system}] if system else []
    return [*messages, {"role": "user", "content": query}]


@dataclass(frozen=True, slots=True)
class FilledPrompt:
    """A prompt of a given length; `client` has only the trips and notes that the prompt shows."""

    messages: Messages
    client: Client


def fill_prompt(
    tokenizer: "PreTrainedTokenizerBase", query: str, num_tokens: int, client: Client
) -> FilledPrompt:
    """The prompt that has exactly `num_tokens`, rendered, up to the answer's first token.

    The manual's sections come first, as many as fit; then past trips, the newest; then notes that
    fill what is left. No sentence is cut. The result depends on the arguments
    alone. Raises ValueError if there is no such prompt: `num_tokens` is too small for the
    client's file, or larger than the manual and all of the file.
    """
    sections = manual()
    section_ends = [0]  # tokens of the first k sections, each with its line break
    for section in sections:
        section_ends.append(section_ends[-1] + _length(tokenizer, "\n" + section))
    note_costs = [_length(tokenizer, "\n" + note) for note in client.notes]
    heading = _length(tokenizer, "\nNotes:")

    def shown(trips: int, notes: Sequence[int] = ()) -> Client:
        newest = client.trips[len(client.trips) - trips :]
        return replace(client, trips=newest, notes=tuple(client.notes[i] for i in notes))

    file_costs = [
        _prompt_length(tokenizer, system_prompt(shown(trips)), query)
        for trips in range(len(client.trips) + 1)
    ]
    for count in range(len(sections), -1, -1):
        fewest = min(MIN_TRIPS, len(client.trips)) if count else 0
        for trips in range(len(client.trips), fewest - 1, -1):
            left = num_tokens - section_ends[count] - file_costs[trips]
            if left and not (notes := _subset_with_sum(note_costs, left - heading)):
                continue
            filled = shown(trips, notes if left else ())
            messages = chat(system_prompt(filled, sections[:count]), query)
            if rendered_length(tokenizer, messages) == num_tokens:
                return FilledPrompt(messages, filled)
    raise ValueError(
        f"no prompt of exactly {num_tokens:,} tokens for {client.name} and {query!r}: it takes "
        f"from about {file_costs[0]:,} to about "
        f"{section_ends[-1] + file_costs[-1] + heading + sum(note_costs):,}."
    )


def _prompt_length(tokenizer: "PreTrainedTokenizerBase", system: str, query: str) -> int:
    return rendered_length(tokenizer, chat(system, query))


def _length(tokenizer: "PreTrainedTokenizerBase", text: str) -> int:
    return len(tokenizer.encode(text, add_special_tokens=False))


def rendered_length(tokenizer: "PreTrainedTokenizerBase", messages: Messages) -> int:
    """Tokens of the rendered prompt, with the token that asks for the answer."""
    text = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    return _length(tokenizer, text)


def _subset_with_sum(costs: Sequence[int], total: int) -> list[int] | None:
    """Indices, ascending, of some of the costs (at least one) that sum to `total`; or None."""
    if total <= 0:
        return None
    reached: dict[int, list[int]] = {0: []}
    for index, cost in enumerate(costs):
        if total in reached:
            break
        for sum_so_far, indices in list(reached.items()):
            if sum_so_far + cost <= total:
                reached.setdefault(sum_so_far + cost, [*indices, index])
    return reached.get(total)
