"""The true answer to a question: a function of the question and the client's file, nothing else.

Nothing here is drawn at random. Which of several wordings is used follows from the city, so texts
vary, but each has exactly one right form that a model can learn. With a client file open, the
answer names the client once and respects the diet and the limit in the file.
"""

from minibatch.wayfarer.questions import Question
from minibatch.wayfarer.sentences import SENTENCES, article, worded
from minibatch.wayfarer.world import City


def answer(question: Question) -> str:
    """The answer, without the end token."""
    write = _WRITERS.get(question.kind)
    return write(question) if write else _together(question, question.asked)


def listed(items: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)


def pace(city: City, day: int) -> str:
    """The words after the sight of this day in an itinerary."""
    return _PACES[(3 * city.index + day) % len(_PACES)]


_PACES = (  # none names a time of day, so that each fits every sight
    "",
    ", with a guide",
    ", at an easy pace",
    ", then coffee",
    ", then free time",
    ", with a camera",
    ", then a rest",
)


def _first(question: Question) -> str:
    return question.client.first if question.client else ""


def _together(question: Question, parts: tuple[str, ...]) -> str:
    """One sentence for each part, in order; the first one names the client."""
    names = [_first(question)] + [""] * (len(parts) - 1)
    return " ".join(
        SENTENCES[part](question, name) for part, name in zip(parts, names, strict=True)
    )


def _visa_answer(question: Question) -> str:
    verdict = "Yes." if question.city.visa(question.passport).needed else "No."
    return f"{verdict} {SENTENCES['visa'](question, _first(question))}"


def _hotel_price(question: Question) -> str:
    hotel, name, limit = question.hotel, _first(question), question.limit
    text = f"{hotel.name} in {hotel.district} costs {hotel.price} euros a night"
    text += f" and has {hotel.feature}"
    if not name:
        return text + "."
    verdict = "within" if hotel.price <= limit else "over"
    return f"{text}; that is {verdict} {name}'s limit of {limit} euros."


def _hotels(question: Question) -> str:
    city, name, limit = question.city, _first(question), question.limit
    full = [
        f"{h.name} in {h.district} costs {h.price} euros a night and has {h.feature}."
        for h in city.hotels
    ]
    if not name:
        low, _, high = city.hotels
        opening = worded(
            city, "We have three hotels", "There are three choices", "Our three hotels are these"
        )
        closing = f"{low.name} is the cheapest, {high.name} the grandest."
        return " ".join([f"{opening} in {city.name}.", *full, closing])
    within = len(city.hotels_within(limit))
    over = [f"{hotel.name} ({hotel.price} euros)" for hotel in city.hotels[within:]]
    if not within:
        return (
            f"None of our hotels in {city.name} is within {name}'s limit of {limit} euros. "
            f"Over the limit: {listed(over)}. The cheapest is {city.hotels[0].name}."
        )
    opening = f"Within {name}'s limit of {limit} euros in {city.name}:"
    closing = f"Over the limit: {listed(over)}." if over else "None is over the limit."
    choice = f"Best choice: {city.hotels[within - 1].name}."
    return " ".join([opening, *full[:within], closing, choice])


def _sights(question: Question) -> str:
    city, name = question.city, _first(question)
    whose = f" for {name}" if name else ""
    count = question.count
    return f"{count} sights in {city.name}{whose}: {listed(list(city.sights[:count]))}."


def _itinerary(question: Question) -> str:
    city, name, days = question.city, _first(question), question.days
    length = f"{days} day" + "s" * (days != 1)
    opening = f"{length} in {city.name} for {name}:" if name else f"{length} in {city.name}:"
    lines = [
        f"Day {day}: {sight[0].upper()}{sight[1:]}{pace(city, day)}"
        for day, sight in enumerate(city.sights[:days], start=1)
    ]
    table = city.restaurants[question.diet]
    if name:
        diet = "" if question.diet == "anything" else f"{question.diet}, "
        closing = f"Dinner for {name}: {table.name}, {diet}{table.price} euros."
    else:
        closing = worded(
            city,
            f"Best months: {city.months}.",
            f"Dinner: {table.name}, {table.price} euros.",
            f"Stay at {city.hotels[1].name}, {city.hotels[1].price} euros a night.",
        )
    return "\n".join([opening, *lines, closing])


def _name(question: Question) -> str:
    return f"The client is {question.client.name}."


def _passport(question: Question) -> str:
    return f"{_first(question)} has {article(question.passport)} {question.passport} passport."


def _diet(question: Question) -> str:
    return f"{_first(question)} eats {question.diet}."


def _limit(question: Question) -> str:
    return f"{_first(question)} pays at most {question.limit} euros a night."


def _history(question: Question) -> str:
    trip, name, year = question.trip, _first(question), question.year
    if trip is None:
        return f"The file of {name} shows no trip in {year}."
    return worded(
        trip.city,
        f"In {year}, {name} went to {trip.city.name} and stayed at {trip.hotel.name}.",
        f"{name} went to {trip.city.name} in {year}, at {trip.hotel.name}.",
    )


def _trips(question: Question) -> str:
    trips = [f"{trip.city.name} ({trip.year})" for trip in question.client.trips]
    if not trips:
        return f"The file of {_first(question)} shows no past trips."
    return f"{_first(question)} has been to {listed(trips)}."


_WRITERS = {
    "visa": _visa_answer,
    "hotel_price": _hotel_price,
    "hotels": _hotels,
    "sights": _sights,
    "itinerary": _itinerary,
    "name": _name,
    "passport": _passport,
    "diet": _diet,
    "limit": _limit,
    "history": _history,
    "trips": _trips,
}
