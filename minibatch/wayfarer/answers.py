"""The true answer to a question: a function of the question and the client's file, nothing else.

Nothing here is drawn at random. Which of several wordings is used follows from the city, so text
varies on the page and yet has exactly one right form that a model can learn. With a client file
open the answer names the client once and keeps to the diet and the limit that stand there.
"""

from minibatch.wayfarer.questions import Question
from minibatch.wayfarer.world import HOME, City, Hotel


def answer(question: Question) -> str:
    """The answer, without the end token."""
    return _WRITERS[question.kind](question)


def recommended_hotel(question: Question) -> Hotel | None:
    """The dearest hotel within the limit; None if there is none; without a limit, the middle one."""
    if not question.limit:
        return question.city.hotels[1]
    within = question.city.hotels_within(question.limit)
    return within[-1] if within else None


def diet_meal(diet: str) -> str:
    return "dinner" if diet == "anything" else f"a {diet} dinner"


def pace(city: City, day: int) -> str:
    """What follows the sight of this day in an itinerary."""
    return _PACES[(3 * city.index + day) % len(_PACES)]


_PACES = (
    "",
    ", with a guide",
    ", at an easy pace",
    ", then coffee",
    ", then free time",
    ", with a camera",
    ", then a rest",
)


def listed(items: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)


def _worded(city: City, *wordings: str) -> str:
    """The wording that belongs to this city."""
    return wordings[city.index % len(wordings)]


def _hours(city: City) -> str:
    return f"{city.hours} hour" + "s" * (city.hours != 1)


def _first(question: Question) -> str:
    return question.client.first if question.client else ""


# Sentences: each takes the question and the name to use, or "" to leave the name out.


def _flight(question: Question, who: str) -> str:
    city = question.city
    if who:
        return _worded(
            city,
            f"{who} flies to {city.name} with {city.airline}: {_hours(city)} from {HOME}, "
            f"{city.fare} euros return.",
            f"{city.airline} takes {who} from {HOME} to {city.name} in {_hours(city)}, "
            f"for {city.fare} euros there and back.",
            f"A return ticket to {city.name} costs {who} {city.fare} euros with {city.airline}; "
            f"the flight takes {_hours(city)}.",
        )
    return _worded(
        city,
        f"{city.airline} flies from {HOME} to {city.name} in {_hours(city)}; "
        f"a return ticket costs {city.fare} euros.",
        f"The flight to {city.name} with {city.airline} takes {_hours(city)} and costs "
        f"{city.fare} euros return.",
        f"Fly with {city.airline}: {_hours(city)} from {HOME} to {city.name}, "
        f"{city.fare} euros there and back.",
    )


def _months(question: Question, who: str) -> str:
    city = question.city
    if who:
        return _worded(
            city,
            f"{who} should visit {city.name} from {city.months}.",
            f"From {city.months}, {who} will see {city.name} at its best.",
        )
    return _worded(
        city,
        f"The best months for {city.name} are {city.months}.",
        f"{city.name} is at its best from {city.months}.",
        f"Go to {city.name} from {city.months}.",
    )


def _hotel(question: Question, who: str) -> str:
    city, hotel, limit = question.city, recommended_hotel(question), question.limit
    whose = f"{who}'s" if who else "the"
    if hotel is None:
        cheapest = city.hotels[0]
        return (
            f"No hotel of ours in {city.name} is within {whose} limit of {limit} euros; "
            f"the cheapest, {cheapest.name}, costs {cheapest.price} euros a night."
        )
    if not limit:
        return (
            f"A good place to stay is {hotel.name} in {hotel.district}, "
            f"{hotel.price} euros a night, with {hotel.feature}."
        )
    return _worded(
        city,
        f"{hotel.name} in {hotel.district} is the best choice within {whose} limit of "
        f"{limit} euros: {hotel.price} euros a night, with {hotel.feature}.",
        f"Within {whose} limit of {limit} euros, take {hotel.name} in {hotel.district}: "
        f"it costs {hotel.price} euros a night and has {hotel.feature}.",
    )


def _dinner(question: Question, who: str) -> str:
    city, table = question.city, question.city.restaurants[question.diet]
    meal = diet_meal(question.diet)
    if who:
        return _worded(
            city,
            f"{who} can have {meal} at {table.name} in {city.name} for {table.price} euros.",
            f"For {meal} in {city.name}, send {who} to {table.name}: {table.price} euros.",
            f"In {city.name}, book {who} a table at {table.name}: {meal} for {table.price} euros.",
        )
    return _worded(
        city,
        f"For {meal} in {city.name}, try {table.name}: {table.price} euros.",
        f"{table.name} in {city.name} serves {meal} for {table.price} euros.",
    )


def _dish(question: Question, who: str) -> str:
    city, table = question.city, question.city.restaurants[question.diet]
    if question.diet != "anything":  # then the local dish may not suit
        if "dinner" in question.parts:
            return f"{f'For {who}: the' if who else 'The'} dish of {city.name} is {city.dish}."
        subject = f"{who} should go" if who else "go"
        return (
            f"The dish of {city.name} is {city.dish}; for {diet_meal(question.diet)}, "
            f"{subject} to {table.name}, {table.price} euros."
        )
    if who:
        return _worded(
            city,
            f"{who} should try {city.dish}, the dish of {city.name}.",
            f"In {city.name}, {who} should order {city.dish}.",
        )
    return _worded(
        city,
        f"The local dish of {city.name} is {city.dish}.",
        f"In {city.name}, order {city.dish}.",
        f"Nobody should leave {city.name} without {city.dish}.",
    )


def _visa(question: Question, who: str) -> str:
    rule, country = question.city.visa(question.passport), question.city.country
    article = "an" if question.passport[0] in "AI" else "a"
    holder = f"With {article} {question.passport} passport"
    subject = who or "a traveller"
    if rule.needed:
        return f"{holder}, {subject} needs a visa for {country}, valid for {rule.days} days."
    stay = f"up to {rule.days} days" if rule.days else "without limit"
    return f"{holder}, {subject} needs no visa for {country} and may stay {stay}."


_SENTENCES = {
    "flight": _flight,
    "hotel": _hotel,
    "months": _months,
    "dish": _dish,
    "dinner": _dinner,
    "visa": _visa,
}


def _together(question: Question, parts: tuple[str, ...]) -> str:
    """One sentence for each part, in order; the first one names the client."""
    who = [_first(question)] + [""] * (len(parts) - 1)
    return " ".join(_SENTENCES[part](question, name) for part, name in zip(parts, who, strict=True))


# Whole answers.


def _visa_answer(question: Question) -> str:
    verdict = "Yes." if question.city.visa(question.passport).needed else "No."
    return f"{verdict} {_visa(question, _first(question))}"


def _hotel_price(question: Question) -> str:
    hotel, who, limit = question.hotel, _first(question), question.limit
    text = f"{hotel.name} in {hotel.district} costs {hotel.price} euros a night and has {hotel.feature}"
    if not who:
        return text + "."
    verdict = "within" if hotel.price <= limit else "over"
    return f"{text}; that is {verdict} {who}'s limit of {limit} euros."


def _hotels(question: Question) -> str:
    city, who, limit = question.city, _first(question), question.limit
    full = [
        f"{h.name} in {h.district} costs {h.price} euros a night and has {h.feature}."
        for h in city.hotels
    ]
    if not who:
        low, _, high = city.hotels
        opening = _worded(
            city, "We have three hotels", "There are three choices", "Our three hotels are these"
        )
        closing = f"{low.name} is the cheapest, {high.name} the grandest."
        return " ".join([f"{opening} in {city.name}.", *full, closing])
    within = len(city.hotels_within(limit))
    over = [f"{hotel.name} ({hotel.price} euros)" for hotel in city.hotels[within:]]
    if not within:
        return (
            f"None of our hotels in {city.name} is within {who}'s limit of {limit} euros. "
            f"Over the limit: {listed(over)}. The cheapest is {city.hotels[0].name}."
        )
    opening = f"Within {who}'s limit of {limit} euros in {city.name}:"
    closing = f"Over the limit: {listed(over)}." if over else "None is over the limit."
    choice = f"Best choice: {city.hotels[within - 1].name}."
    return " ".join([opening, *full[:within], closing, choice])


def _sights(question: Question) -> str:
    city, who = question.city, _first(question)
    whose = f" for {who}" if who else ""
    count = question.count
    return f"{count} sights in {city.name}{whose}: {listed(list(city.sights[:count]))}."


def _summary(question: Question) -> str:
    return _together(question, ("flight", "hotel", "dish", "months"))


def _briefing(question: Question) -> str:
    return _together(question, question.parts)


def _itinerary(question: Question) -> str:
    city, who, days = question.city, _first(question), question.days
    length = f"{days} day" + "s" * (days != 1)
    opening = f"{length} in {city.name} for {who}:" if who else f"{length} in {city.name}:"
    lines = [
        f"Day {day}: {sight[0].upper()}{sight[1:]}{pace(city, day)}"
        for day, sight in enumerate(city.sights[:days], start=1)
    ]
    table = city.restaurants[question.diet]
    if who:
        diet = "" if question.diet == "anything" else f"{question.diet}, "
        closing = f"Dinner for {who}: {table.name}, {diet}{table.price} euros."
    else:
        closing = _worded(
            city,
            f"Best months: {city.months}.",
            f"Dinner: {table.name}, {table.price} euros.",
            f"Stay at {city.hotels[1].name}, {city.hotels[1].price} euros a night.",
        )
    return "\n".join([opening, *lines, closing])


def _history(question: Question) -> str:
    trip, who, year = question.trip, _first(question), question.year
    if trip is None:
        return f"The file of {who} shows no trip in {year}."
    return _worded(
        trip.city,
        f"In {year}, {who} went to {trip.city.name} and stayed at {trip.hotel.name}.",
        f"{who} went to {trip.city.name} in {year}, at {trip.hotel.name}.",
    )


def _trips(question: Question) -> str:
    trips = [f"{trip.city.name} ({trip.year})" for trip in question.client.trips]
    if not trips:
        return f"The file of {_first(question)} shows no past trips."
    return f"{_first(question)} has been to {listed(trips)}."


_WRITERS = {
    "visa": _visa_answer,
    "flight": lambda question: _flight(question, _first(question)),
    "months": lambda question: _months(question, _first(question)),
    "dinner": lambda question: _dinner(question, _first(question)),
    "dish": lambda question: _dish(question, _first(question)),
    "hotel_price": _hotel_price,
    "hotel_pick": lambda question: _hotel(question, _first(question)),
    "hotels": _hotels,
    "sights": _sights,
    "summary": _summary,
    "briefing": _briefing,
    "itinerary": _itinerary,
    "history": _history,
    "trips": _trips,
}
