"""Whether an answer is true, and has the form that the question asks for.

`check` reads the answer instead of comparing it with the expected string: it finds what the text
mentions (hotels, sights, prices, days), looks each of them up in the world, and rejects every
number and every word that it cannot explain.
"""

import re
from dataclasses import dataclass

from minibatch.wayfarer.mentions import Mention, false_numbers, find_mentions, unknown_words
from minibatch.wayfarer.questions import Question
from minibatch.wayfarer.sentences import recommended_hotel
from minibatch.wayfarer.world import City


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is right about an answer; None where a point does not apply to the question.

    form: it answers every part, in order, and ends by itself. facts: nothing in it is untrue or
    unknown. days: an itinerary has exactly the days asked for, numbered and without
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


def check(question: Question, text: str, *, ended: bool = True) -> Verdict:
    """Judges `text`, an answer without its end token; `ended`: the model ended it by itself."""
    problems: list[str] = [] if ended else ["does not end by itself"]
    mentions, false_facts = find_mentions(question, text)
    false_facts += false_numbers(question, text, mentions)
    false_facts += unknown_words(question, text, mentions)
    form = _form_problems(question, text, mentions)
    form += [] if text.endswith(".") else ["breaks off"]
    if question.limit and not question.client:  # the limit is part of the question
        form += _limit_problems(question, text)
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


# Form: what an answer to a question of this kind must contain.


def _form_problems(question: Question, text: str, mentions: list[Mention]) -> list[str]:
    city = question.city
    names = [m.name for m in mentions if m.kind not in ("city", "country", "district", "feature")]
    if question.kind in ("name", "passport", "diet", "limit"):
        client = question.client
        facts = {"name": client.name, "limit": f"{client.limit} euros"}
        fact = facts.get(question.kind) or getattr(client, question.kind)
        return [] if fact in text else [f"does not mention {fact}"]
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
        wanted = [_fact(question, part) for part in question.asked]
    prices = {m.name: m.price for m in mentions if m.price}
    missing = [name for name in wanted if name not in names]
    missing += [f"the price of {n}" for n in wanted if n in prices and str(prices[n]) not in text]
    if missing:
        return [f"does not mention {', '.join(missing)}"]
    order = [names.index(name) for name in wanted]
    return [] if order == sorted(order) else ["wrong order"]


def _fact(question: Question, part: str) -> str:
    """The one fact that an answer about this part must contain."""
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
    return (
        text.startswith("Yes." if rule.needed else "No.") and needed == rule.needed and stay in text
    )


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
    """An itinerary has days 1 … N, in order, each with its own sight of the city."""
    lines = re.findall(r"^Day (\d+): (.+)$", text, flags=re.MULTILINE)
    numbers = [int(number) for number, _ in lines]
    if numbers != list(range(1, question.days + 1)):
        return [f"days {numbers}, asked for {question.days}"]
    known = {sight.casefold() for sight in question.city.sights}
    seen = [line.split(", ")[0].casefold() for _, line in lines]
    problems = [f"{sight!r} is no sight here" for sight in seen if sight not in known]
    return problems + (["a day is repeated"] if len(set(seen)) < len(seen) else [])


def _wish_problems(question: Question, text: str, mentions: list[Mention]) -> list[str] | None:
    """What violates the client's diet or limit; None if the question involves neither."""
    city = question.city
    asked = question.asked
    touches_limit = "hotel" in asked or question.kind in ("hotels", "hotel_price")
    touches_diet = "dinner" in asked or "dish" in asked or question.kind == "itinerary"
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
    """A hotel over the limit must be marked as such; the recommended one is the dearest within."""
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
