"""What an answer mentions, and whether that is true: names, numbers, and every other word.

A name must belong to the city in question, a price to the thing named before it, and a word that is
neither must be one of `PLAIN_WORDS`, the words that answers are made of.
"""

import re
from dataclasses import dataclass
from functools import cache

from minibatch.wayfarer.questions import Question
from minibatch.wayfarer.world import DIETS, HOME, PASSPORTS, cities

_PLAIN_WORDS = """
A Best Day Dinner Fly For From Go In No Nobody None Our Over Stay The There We With Within Yes a
an and anything are at back been best book camera can cheapest choice choices client coffee
costs day days dinner dish easy eats euros file flies flight for free from go good grandest
guide has have hotel hotels hour hours in is it its leave limit local may months most needs
night no of order our ours over pace passport past pays place rest return see send serves should
shows sights stay stayed table take takes that the then there these three ticket time to
traveller trip trips try up valid visa visit went will with within without
"""
PLAIN_WORDS = frozenset(_PLAIN_WORDS.split())


@dataclass(frozen=True, slots=True)
class Mention:
    """A piece of text that names a fact; `price` in euros where the fact has one."""

    start: int
    end: int
    kind: str
    name: str
    price: int = 0


@cache
def _index() -> tuple[re.Pattern[str], dict[str, list[tuple[str, str, int]]]]:
    """A pattern of every phrase in the world, and for each phrase its (kind, city, price)."""
    phrases: dict[str, list[tuple[str, str, int]]] = {}

    def add(phrase: str, kind: str, city: str = "", price: int = 0) -> None:
        phrases.setdefault(phrase, []).append((kind, city, price))

    for city in cities().values():
        add(city.name, "city", city.name)
        add(city.country, "country", city.name)
        add(city.airline, "airline", city.name, city.fare)
        add(city.months, "months", city.name)
        add(city.dish, "dish", city.name)
        for sight in city.sights:
            for written in {sight, sight[0].upper() + sight[1:]}:
                add(written, "sight", city.name)
        for hotel in city.hotels:
            add(hotel.name, "hotel", city.name, hotel.price)
            add(hotel.district, "district", city.name)
            add(hotel.feature, "feature", city.name)
        for restaurant in city.restaurants.values():
            add(restaurant.name, "restaurant", city.name, restaurant.price)
    for passport in PASSPORTS:
        add(passport, "passport")
    for diet in DIETS[1:]:
        add(diet, "diet")
    longest_first = sorted(phrases, key=len, reverse=True)
    pattern = r"(?<!\w)(?:" + "|".join(map(re.escape, longest_first)) + r")(?!\w)"
    return re.compile(pattern), phrases


def find_mentions(question: Question, text: str) -> tuple[list[Mention], list[str]]:
    """The mentions of a text, in order; and, in words, those that do not belong to the question."""
    pattern, phrases = _index()
    if question.city:
        allowed = {"", question.city.name}
    else:
        allowed = {"", *(trip.city.name for trip in question.client.trips)}
    found, problems = [], []
    for match in pattern.finditer(text):
        phrase = match.group()
        ours = [entry for entry in phrases[phrase] if entry[1] in allowed]
        if not ours:
            problems.append(f"{phrase!r} is not of this city")
            ours = phrases[phrase][:1]
        kind, _, price = _likeliest(ours, text[: match.start()])
        if kind == "passport" and phrase != question.passport:
            problems.append(f"passport {phrase!r}")
        if kind == "diet" and phrase != question.diet:
            problems.append(f"diet {phrase!r}")
        found.append(Mention(match.start(), match.end(), kind, phrase, price))
    return found, problems


def _likeliest(entries: list[tuple[str, str, int]], before: str) -> tuple[str, str, int]:
    """A phrase can be a sight and a district ("Plaka"): after "in " it is the district."""
    if before.endswith(" in "):
        for entry in entries:
            if entry[0] in ("city", "district"):
                return entry
    return entries[0]


_NUMBER = re.compile(
    r"(?P<limit>limit of )?\b(?P<value>\d+)(?P<unit> euros| hours?| days?| sights)?"
)


def false_numbers(question: Question, text: str, mentions: list[Mention]) -> list[str]:
    """Numbers that contradict the world or the question, in words."""
    covered = [range(m.start, m.end) for m in mentions]
    problems = []
    for match in _NUMBER.finditer(text):
        start = match.start("value")
        if any(start in span for span in covered):
            continue  # the 28 of "Alfama by tram 28"
        value, unit = int(match["value"]), (match["unit"] or "").strip().rstrip("s")
        if match["limit"] or question.kind == "limit":
            expected = question.limit
        elif unit == "euro":
            expected = _price_at(text, start, mentions)
        elif unit == "hour":
            expected = question.city and question.city.hours
        elif unit == "day":
            plan = question.kind == "itinerary"
            expected = question.days if plan else question.city.visa(question.passport).days
        elif unit == "sight":
            expected = question.count
        elif question.kind == "itinerary" and text[:start].endswith("Day "):
            continue  # judged by `_day_problems`
        elif question.kind == "trips":
            expected = _year_at(question, start, mentions)
        else:
            expected = question.year or None
        if value != expected:
            problems.append(f"{match.group()!r} should be {expected}")
    return problems


def _price_at(text: str, position: int, mentions: list[Mention]) -> int | None:
    """The price that the text means here: of the last priced mention before, else of the next."""
    begin = max(text.rfind(". ", 0, position), text.rfind("\n", 0, position)) + 1
    before = [m for m in mentions if m.price and begin <= m.start < position]
    after = [m for m in mentions if m.price and m.start > position]
    return before[-1].price if before else after[0].price if after else None


def _year_at(question: Question, position: int, mentions: list[Mention]) -> int | None:
    """The year of the trip to the city named just before."""
    before = [m.name for m in mentions if m.kind == "city" and m.start < position]
    years = {trip.city.name: trip.year for trip in question.client.trips}
    return years.get(before[-1]) if before else None


def _names(question: Question) -> set[str]:
    """The client's names that an answer may use."""
    if question.client is None:
        return set()
    return set(question.client.name.split()) if question.kind == "name" else {question.client.first}


def unknown_words(question: Question, text: str, mentions: list[Mention]) -> list[str]:
    """Words that are neither a fact, nor the client's name, nor in `PLAIN_WORDS`."""
    for mention in reversed(mentions):
        text = text[: mention.start] + " " + text[mention.end :]
    known = PLAIN_WORDS | {HOME} | _names(question)
    words = re.findall(r"[^\W\d_]+", text.replace("'s", ""))
    return [f"unknown word {word!r}" for word in words if word not in known]
