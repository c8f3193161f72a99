"""Questions with their true answers, drawn from a seed, for training and evaluation.

About one in twenty combinations of question and phrasing is held out by a stable hash: training
never sees these, and `evaluation.py` asks only these.
"""

import hashlib
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from minibatch.wayfarer.clients import NUM_CLIENTS, YEARS, Client, client
from minibatch.wayfarer.policy import manual, system_prompt
from minibatch.wayfarer.questions import PARTS, Question, phrasings, query
from minibatch.wayfarer.training.answers import answer
from minibatch.wayfarer.world import DIETS, LIMITS, PASSPORTS, cities

MAX_DAYS = 14
Setting = Literal["file", "plain", "client", "manual"]  # of a conversation: see `conversations`
LOOKUPS = ("name", "passport", "diet", "limit", "history")  # answered by reading the client's file
KINDS = {  # kind: how often it is asked. Long answers and copied facts need the most training.
    "itinerary": 30,
    "briefing": 14,
    "hotels": 12,
    "summary": 9,
    "sights": 8,
    "hotel_pick": 7,
    "hotel_price": 6,
    "visa": 6,
    "dinner": 6,
    "flight": 4,
    "dish": 4,
    "months": 3,
}
CLIENT_KINDS = {**KINDS, "name": 4, "passport": 4, "diet": 6, "limit": 6, "history": 9, "trips": 5}


@dataclass(frozen=True, slots=True)
class Example:
    """A question as typed, its true answer, and the system prompt before it ("" for none)."""

    question: Question
    phrasing: int
    system: str
    query: str
    answer: str

    @property
    def kind(self) -> str:
        return self.question.kind

    @property
    def key(self) -> str:
        """Identifies this combination of question and phrasing."""
        return f"{self.question.key}|{self.phrasing}"

    @property
    def held_out(self) -> bool:
        """Whether training must not see this combination."""
        return hashlib.sha256(self.key.encode()).digest()[0] < 13  # 13 of 256, about 5 %


def draw_question(rng: random.Random, client: Client | None = None, kind: str = "") -> Question:
    """A question drawn at random; passport, diet and limit are the client's if there is one."""
    table = CLIENT_KINDS if client else KINDS
    kind = kind or rng.choices(list(table), weights=list(table.values()))[0]
    city = rng.choice(list(cities().values()))
    passport = client.passport if client else rng.choice(tuple(PASSPORTS))
    diet = client.diet if client else rng.choice(DIETS) if kind == "dinner" else "anything"
    limit = client.limit if client else rng.choice(LIMITS) if kind == "hotel_pick" else 0
    question = Question(kind, city, client, passport=passport, diet=diet, limit=limit)
    match kind:
        case "itinerary":
            days = range(1, MAX_DAYS + 1)
            weights = [2 if day >= 10 else 1 for day in days]
            return replace(question, days=rng.choices(days, weights)[0])
        case "sights":
            return replace(question, count=rng.randint(2, 9))
        case "hotel_price":
            return replace(question, hotel=rng.choice(city.hotels))
        case "briefing":
            parts = PARTS + ("visa",) * (client is not None)
            return replace(question, parts=tuple(rng.sample(parts, k=rng.randint(2, 4))))
        case "history":
            trips = {trip.year: trip for trip in client.trips}
            known = trips and rng.random() < 0.85
            year = rng.choice(list(trips)) if known else rng.choice(YEARS)
            return replace(question, city=None, year=year, trip=trips.get(year))
        case "trips" | "name" | "passport" | "diet" | "limit":
            return replace(question, city=None)
    return question


def draw_example(
    rng: random.Random, client: Client | None = None, system: str = "", kind: str = ""
) -> Example:
    """An example drawn at random, held out or not; `system` is what shows the client's file."""
    question = draw_question(rng, client, kind)
    phrasing = rng.randrange(len(phrasings(question)))
    return Example(question, phrasing, system, query(question, phrasing), answer(question))


def draw_training_example(
    rng: random.Random, client: Client | None = None, system: str = "", kind: str = ""
) -> Example:
    """An example drawn at random that is not held out."""
    while (example := draw_example(rng, client, system, kind)).held_out:
        pass
    return example


def draw_client(
    rng: random.Random, *, long: bool, unseen: bool = False
) -> tuple[Client | None, str]:
    """A client and the system prompt that shows the file: short (file only) or long (with manual).

    The client returned has only the trips and notes that the prompt shows. One time in ten no file
    is open, and the client is None. `unseen`: a client that training never uses.
    """
    number_of_sections = rng.randint(4, len(manual())) if long else rng.choice((0, 0, 0, 0, 0, 1))
    sections = manual()[:number_of_sections]
    if rng.random() < 0.1:
        return None, system_prompt(None, sections)
    person = client(rng.randrange(NUM_CLIENTS) + (NUM_CLIENTS if unseen else 0))
    trips = rng.randint(3, 8) if long else rng.choice((0, 1, 2, 3, 4, 5))
    notes = rng.choice((0, 2, 4, 6, 8, 12, 16, 22)) if long else rng.choice((0, 0, 1, 2, 3))
    person = replace(person, trips=person.trips[8 - trips :], notes=person.notes[:notes])
    return person, system_prompt(person, sections)


def conversations(seed: str, setting: Setting) -> Iterator[list[Example]]:
    """Endless conversations of the training set.

    "file": a client's file and eight short questions about its contents. They teach to read a file:
    in the other settings, too few of an answer's tokens depend on it.
    "plain": one question without a client. "client": a client's file and one to three questions.
    "manual": the manual and a client's file, with twelve questions; a row takes those that fit.
    """
    rng = random.Random(f"conversations {seed} {setting}")
    while True:
        if setting == "plain":
            yield [draw_training_example(rng)]
            continue
        long = setting == "manual"
        person, system = draw_client(rng, long=long)
        if setting == "file":
            if person is None:
                continue
            if rng.random() < 0.6:  # the file's heading only
                person = replace(person, trips=(), notes=())
                system = system_prompt(person)
            kinds = LOOKUPS if person.trips else LOOKUPS[:-1]
            yield [draw_training_example(rng, person, system, rng.choice(kinds)) for _ in range(8)]
            continue
        turns = 12 if long else rng.choice((1, 1, 2, 3))
        yield [draw_training_example(rng, person, system) for _ in range(turns)]
