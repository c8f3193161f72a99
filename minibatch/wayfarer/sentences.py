"""The sentences that answers are made of.

Each takes the question and the client's name, or "" to leave the name out. Which of several
wordings is used follows from the city, so texts vary, but each has one right form.
"""

from minibatch.wayfarer.questions import Question
from minibatch.wayfarer.world import HOME, City, Hotel


def flight(question: Question, name: str) -> str:
    """Airline, hours and fare."""
    city = question.city
    if name:
        return worded(
            city,
            f"{name} flies to {city.name} with {city.airline}: {_hours(city)} from {HOME}, "
            f"{city.fare} euros return.",
            f"{city.airline} takes {name} from {HOME} to {city.name} in {_hours(city)}, "
            f"for {city.fare} euros there and back.",
            f"A return ticket to {city.name} costs {name} {city.fare} euros with {city.airline}; "
            f"the flight takes {_hours(city)}.",
        )
    return worded(
        city,
        f"{city.airline} flies from {HOME} to {city.name} in {_hours(city)}; "
        f"a return ticket costs {city.fare} euros.",
        f"The flight to {city.name} with {city.airline} takes {_hours(city)} and costs "
        f"{city.fare} euros return.",
        f"Fly with {city.airline}: {_hours(city)} from {HOME} to {city.name}, "
        f"{city.fare} euros there and back.",
    )


def months(question: Question, name: str) -> str:
    """When to go."""
    city = question.city
    if name:
        return worded(
            city,
            f"{name} should visit {city.name} from {city.months}.",
            f"From {city.months}, {name} will see {city.name} at its best.",
        )
    return worded(
        city,
        f"The best months for {city.name} are {city.months}.",
        f"{city.name} is at its best from {city.months}.",
        f"Go to {city.name} from {city.months}.",
    )


def hotel(question: Question, name: str) -> str:
    """The hotel to take, within the limit if there is one."""
    city, hotel, limit = question.city, recommended_hotel(question), question.limit
    whose = f"{name}'s" if name else "the"
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
    return worded(
        city,
        f"{hotel.name} in {hotel.district} is the best choice within {whose} limit of "
        f"{limit} euros: {hotel.price} euros a night, with {hotel.feature}.",
        f"Within {whose} limit of {limit} euros, take {hotel.name} in {hotel.district}: "
        f"it costs {hotel.price} euros a night and has {hotel.feature}.",
    )


def dinner(question: Question, name: str) -> str:
    """The table for the diet, and its price."""
    city, table = question.city, question.city.restaurants[question.diet]
    meal = diet_meal(question.diet)
    if name:
        return worded(
            city,
            f"{name} can have {meal} at {table.name} in {city.name} for {table.price} euros.",
            f"For {meal} in {city.name}, send {name} to {table.name}: {table.price} euros.",
            f"In {city.name}, book {name} a table at {table.name}: {meal} for {table.price} euros.",
        )
    return worded(
        city,
        f"For {meal} in {city.name}, try {table.name}: {table.price} euros.",
        f"{table.name} in {city.name} serves {meal} for {table.price} euros.",
    )


def dish(question: Question, name: str) -> str:
    """The local dish, and for a diet the table that serves it."""
    city, table = question.city, question.city.restaurants[question.diet]
    if question.diet != "anything":  # then the local dish may not suit
        if "dinner" in question.parts:
            return f"{f'For {name}: the' if name else 'The'} dish of {city.name} is {city.dish}."
        subject = f"{name} should go" if name else "go"
        return (
            f"The dish of {city.name} is {city.dish}; for {diet_meal(question.diet)}, "
            f"{subject} to {table.name}, {table.price} euros."
        )
    if name:
        return worded(
            city,
            f"{name} should try {city.dish}, the dish of {city.name}.",
            f"In {city.name}, {name} should order {city.dish}.",
        )
    return worded(
        city,
        f"The local dish of {city.name} is {city.dish}.",
        f"In {city.name}, order {city.dish}.",
        f"Nobody should leave {city.name} without {city.dish}.",
    )


def visa(question: Question, name: str) -> str:
    """What this passport needs in this country."""
    rule, country = question.city.visa(question.passport), question.city.country
    holder = f"With {article(question.passport)} {question.passport} passport"
    subject = name or "a traveller"
    if rule.needed:
        return f"{holder}, {subject} needs a visa for {country}, valid for {rule.days} days."
    stay = f"up to {rule.days} days" if rule.days else "without limit"
    return f"{holder}, {subject} needs no visa for {country} and may stay {stay}."


def recommended_hotel(question: Question) -> Hotel | None:
    """The dearest hotel within the limit, None if there is none; the middle one without a limit."""
    if not question.limit:
        return question.city.hotels[1]
    within = question.city.hotels_within(question.limit)
    return within[-1] if within else None


def article(passport: str) -> str:
    """The article, "a" or "an", before this passport."""
    return "an" if passport[:1] in ("A", "I") else "a"


def diet_meal(diet: str) -> str:
    """Dinner as this diet has it: "a vegan dinner"."""
    return "dinner" if diet == "anything" else f"a {diet} dinner"


def worded(city: City, *wordings: str) -> str:
    """The wording that belongs to this city."""
    return wordings[city.index % len(wordings)]


def _hours(city: City) -> str:
    return f"{city.hours} hour" + "s" * (city.hours != 1)


SENTENCES = {
    "flight": flight,
    "hotel": hotel,
    "months": months,
    "dish": dish,
    "dinner": dinner,
    "visa": visa,
}
