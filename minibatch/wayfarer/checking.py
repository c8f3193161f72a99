"""Is an answer true, and has it the form that was asked for?

`check` reads the answer instead of comparing it with the expected string: it finds what the text
mentions (hotels, sights, prices, days), looks each thing up in the world, and refuses every number
and every word that it cannot account for.
"""

import re
from dataclasses import dataclass
from functools import cache

from minibatch.wayfarer.answers import recommended_hotel
from minibatch.wayfarer.questions import Question
from minibatch.wayfarer.world import DIETS, HOME, PASSPORTS, City, cities


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is right about an answer; None where a point does not apply to the question.

    form: it says what was asked for, in that order, and ends by itself. facts: nothing in it is
    untrue or unknown. days: an itinerary has exactly the days asked for, numbered and without
    repetition. name: it uses the client's first name. wishes: it keeps to the diet and the limit.
    """

    form: bool
    facts: bool
    days: bool | None
    name: bool | None
    wishes: bool | None
    problems: tuple[str, ...]

    @property
    def good(self) -> bool:
        return self.form and self.facts


@dataclass(frozen=True, slots=True)
class Mention:
    """A piece of text that names a fact; `price` in euros where the fact has one."""

    start: int
    end: int
    kind: str
    name: str
    price: int = 0


def check(question: Question, text: str, *, ended: bool = True) -> Verdict:
    """Judges `text`, an answer without its end token; `ended`: the model ended it by itself."""
    problems: list[str] = [] if ended else ["does not end by itself"]
    mentions, false_facts = _mentions(question, text)
    false_facts += _false_numbers(question, text, mentions)
    false_facts += _unknown_words(question, text, mentions)
    form = _form_problems(question, text, mentions)
    days = _day_problems(question, text) if question.kind == "itinerary" else None
    wishes = _wish_problems(question, text, mentions) if question.client else None
    problems += form + (days or []) + (wishes or []) + false_facts
    return Verdict(
        form=ended and not form and not days,
        facts=not false_facts,
        days=None if days is None else ended and not days,
        name=question.client.first in text if question.client else None,
        wishes=None if wishes is None else not wishes,
        problems=tuple(problems),
    )


# What a text mentions.


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


def _mentions(question: Question, text: str) -> tuple[list[Mention], list[str]]:
    """Mentions that belong to the question's world, in order; and those that do not, as problems."""
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


# Facts: numbers and words.

_NUMBER = re.compile(r"(?P<limit>limit of )?\b(?P<value>\d+)(?P<unit> euros| hours?| days?| sights)?")


def _false_numbers(question: Question, text: str, mentions: list[Mention]) -> list[str]:
    """Numbers that are not what the world, or the question, says they are."""
    covered = [range(m.start, m.end) for m in mentions]
    problems = []
    for match in _NUMBER.finditer(text):
        start = match.start("value")
        if any(start in span for span in covered):
            continue  # the 28 of "Alfama by tram 28"
        value, unit = int(match["value"]), (match["unit"] or "").strip().rstrip("s")
        if match["limit"]:
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
    """The price of what is being spoken of: the last priced thing before, else the next one."""
    begin = max(text.rfind(". ", 0, position), text.rfind("\n", 0, position)) + 1
    before = [m for m in mentions if m.price and begin <= m.start < position]
    after = [m for m in mentions if m.price and m.start > position]
    return before[-1].price if before else after[0].price if after else None


def _year_at(question: Question, position: int, mentions: list[Mention]) -> int | None:
    """The year of the trip to the city named just before."""
    before = [m.name for m in mentions if m.kind == "city" and m.start < position]
    years = {trip.city.name: trip.year for trip in question.client.trips}
    return years.get(before[-1]) if before else None


def _unknown_words(question: Question, text: str, mentions: list[Mention]) -> list[str]:
    """Words that are neither a fact, nor the client's name, nor in `PLAIN_WORDS`."""
    for mention in reversed(mentions):
        text = text[: mention.start] + " " + text[mention.end :]
    known = PLAIN_WORDS | {HOME} | ({question.client.first} if question.client else set())
    words = re.findall(r"[^\W\d_]+", text.replace("'s", ""))
    return [f"unknown word {word!r}" for word in words if word not in known]


PLAIN_WORDS = frozenset(
    """
A Best Day Dinner Fly For From Go In No Nobody None Our Over Stay The There We With Within Yes a
an and are at back been best book camera can cheapest choice choices coffee costs day days
dinner dish easy euros file flies flight for free from go good grandest guide has have hotel
hotels hour hours in is it its leave limit local may months needs night no of order our ours
over pace passport past place rest return see send serves should shows sights stay stayed table
take takes that the then there these three ticket time to traveller trip trips try up valid visa
visit went will with within without
""".split()
)


# Form: what a question of this kind must be told.


def _form_problems(question: Question, text: str, mentions: list[Mention]) -> list[str]:
    city = question.city
    names = [m.name for m in mentions if m.kind not in ("city", "country", "district", "feature")]
    if question.kind in ("history", "trips"):
        return _history_problems(question, text)
    if question.kind == "itinerary":
        opening = text.split("\n")[0]
        closed = text.count("\n") == question.days + 1
        right = closed and opening.startswith(str(question.days)) and city.name in opening
        return [] if right else ["opening or closing line"]
    if question.kind == "sights":
        seen = [m.name for m in mentions if m.kind == "sight"]
        right = len(seen) == len(set(seen)) == question.count
        return [] if right else [f"{len(set(seen))} sights, asked for {question.count}"]
    if question.kind == "visa" and not _verdict_right(question, text):
        return ["yes or no"]
    if question.kind == "hotel_price":
        wanted = [question.hotel.name]
    elif question.kind == "hotels":
        wanted = [hotel.name for hotel in city.hotels]
    else:
        parts = {"summary": ("flight", "hotel", "dish", "months"), "hotel_pick": ("hotel",)}
        asked = question.parts or parts.get(question.kind, (question.kind,))
        wanted = [_fact(question, part) for part in asked]
    missing = [name for name in wanted if name not in names]
    if missing:
        return [f"does not mention {', '.join(missing)}"]
    order = [names.index(name) for name in wanted]
    return [] if order == sorted(order) else ["wrong order"]


def _fact(question: Question, part: str) -> str:
    """The one fact that an answer about this part cannot do without."""
    city: City = question.city
    match part:
        case "flight":
            return city.airline
        case "hotel":
            return (recommended_hotel(question) or city.hotels[0]).name
        case "months":
            return city.months
        case "dish":
            return city.dish
        case "dinner":
            return city.restaurants[question.diet].name
        case "visa":
            return question.passport
    raise ValueError(f"unknown part of an answer: {part!r}")


def _verdict_right(question: Question, text: str) -> bool:
    rule = question.city.visa(question.passport)
    needed = "needs a visa" in text and "needs no visa" not in text
    stay = f"{rule.days} days" if rule.days else "without limit"
    return text.startswith("Yes." if rule.needed else "No.") and needed == rule.needed and stay in text


def _history_problems(question: Question, text: str) -> list[str]:
    if question.kind == "trips":
        trips = question.client.trips
        missing = [t.city.name for t in trips if f"{t.city.name} ({t.year})" not in text]
        missing += [] if trips or "no past trips" in text else ["no past trips"]
    elif question.trip is None:
        missing = [] if "no trip" in text else ["no trip"]
    else:
        facts = (str(question.year), question.trip.city.name, question.trip.hotel.name)
        missing = [fact for fact in facts if fact not in text]
    return [f"does not mention {fact}" for fact in missing]


def _day_problems(question: Question, text: str) -> list[str]:
    """An itinerary has days 1 … N, in order, each with a sight of the city that no other day has."""
    lines = re.findall(r"^Day (\d+): (.+)$", text, flags=re.MULTILINE)
    numbers = [int(number) for number, _ in lines]
    if numbers != list(range(1, question.days + 1)):
        return [f"days {numbers}, asked for {question.days}"]
    known = {sight.casefold() for sight in question.city.sights}
    seen = [line.split(", ")[0].casefold() for _, line in lines]
    problems = [f"{sight!r} is no sight here" for sight in seen if sight not in known]
    return problems + (["a day is repeated"] if len(set(seen)) < len(seen) else [])


def _wish_problems(question: Question, text: str, mentions: list[Mention]) -> list[str] | None:
    """What goes against the client's diet or limit; None if the question touches neither."""
    city = question.city
    touches_limit = "hotel" in question.kind or question.kind == "summary" or "hotel" in question.parts
    touches_diet = question.kind in ("dinner", "dish", "itinerary", "summary") or (
        "dinner" in question.parts or "dish" in question.parts
    )
    if not (touches_limit or touches_diet):
        return None
    problems = []
    if touches_diet:
        table = city.restaurants[question.diet].name
        others = [m.name for m in mentions if m.kind == "restaurant" and m.name != table]
        problems += [f"{name} is not for this diet" for name in others]
    if touches_limit:
        problems += _limit_problems(question, text)
    return problems


def _limit_problems(question: Question, text: str) -> list[str]:
    """Hotels over the limit may be named only as such; the one recommended is the dearest within."""
    city, limit, best = question.city, question.limit, recommended_hotel(question)
    if question.kind == "hotel_price":
        verdict = "within" if question.hotel.price <= limit else "over"
        return [] if f"{verdict} {question.client.first}'s limit" in text else [f"not {verdict}"]
    if question.kind != "hotels":
        named = [hotel for hotel in city.hotels if hotel.name in text]
        refused = "No hotel of ours" in text
        right = named == ([best] if best else [city.hotels[0]]) and refused == (best is None)
        return [] if right else ["not the dearest hotel within the limit"]
    recommended, _, rest = text.partition("Over the limit:")
    problems = []
    for hotel in city.hotels:
        where = recommended if hotel.price <= limit else rest
        if hotel.name not in where:
            problems.append(f"{hotel.name} on the wrong side of the limit")
    expected = f"Best choice: {best.name}." if best else f"The cheapest is {city.hotels[0].name}."
    return problems + ([] if expected in text else ["the choice"])
