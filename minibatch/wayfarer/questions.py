"""What a travel agent may ask.

A `Question` holds everything its true answer depends on. `answers.py` writes that answer,
`corpus.py` draws questions, `checking.py` judges a model's answer.
"""

from dataclasses import dataclass, replace

from minibatch.wayfarer.clients import Client, Trip
from minibatch.wayfarer.phrasings import WITH_CLIENT, WITHOUT_CLIENT
from minibatch.wayfarer.world import City, Hotel

SENTENCES_OF = {  # kind of question: the sentences its answer is made of, in order
    "flight": ("flight",),
    "months": ("months",),
    "dinner": ("dinner",),
    "dish": ("dish",),
    "visa": ("visa",),
    "hotel_pick": ("hotel",),
    "summary": ("flight", "hotel", "dish", "months"),
}
PARTS = ("flight", "hotel", "months", "dish", "dinner")  # of a briefing; with a client also "visa"


@dataclass(frozen=True, slots=True)
class Question:
    """One question. Fields that its kind does not use keep their defaults.

    city: None only for "history" and "trips". client: the open file, or None.
    days: of an itinerary; count: of sights; year, trip: of "history" (None: none that year).
    passport, diet, limit (euros a night): the client's, or else those named in the question.
    """

    kind: str
    city: City | None = None
    client: Client | None = None
    days: int = 0
    count: int = 0
    year: int = 0
    trip: Trip | None = None
    hotel: Hotel | None = None
    passport: str = ""
    diet: str = "anything"
    limit: int = 0
    parts: tuple[str, ...] = ()

    @property
    def asked(self) -> tuple[str, ...]:
        """The sentences to answer with, in order; none for kinds with a form of their own."""
        return self.parts or SENTENCES_OF.get(self.kind, ())

    def behind(self, client: Client) -> "Question":
        """The same question behind this client's file, as far as a prompt shows it."""
        trips = {trip.year: trip for trip in client.trips}
        return replace(self, client=client, trip=trips.get(self.year))

    @property
    def key(self) -> str:
        """Identifies this question among all of its kind; stable between runs."""
        city = self.city.name if self.city else ""
        hotel = self.hotel.name if self.hotel else ""
        name = self.client.name if self.client else ""
        number = self.days or self.count or self.year or self.limit
        return "|".join(
            (self.kind, city, name, str(number), hotel, self.passport, self.diet, *self.parts)
        )


def phrasings(question: Question) -> tuple[str, ...]:
    """Every way to ask this question."""
    table = WITH_CLIENT if question.client else WITHOUT_CLIENT
    return table[question.kind]


def query(question: Question, phrasing: int) -> str:
    """The question as an agent types it, in the given phrasing (an index into `phrasings`)."""
    city, client = question.city, question.client
    *most, last = question.parts or ("",)
    days = f"{question.days} day" + "s" * (question.days != 1)
    return phrasings(question)[phrasing].format(
        city=city.name if city else "",
        country=city.country if city else "",
        first=client.first if client else "",
        name=client.name if client else "",
        days=days,
        n=question.days or question.count,
        year=question.year,
        hotel=question.hotel.name if question.hotel else "",
        a="an" if question.passport[:1] in ("A", "I") else "a",
        passport=question.passport,
        diet="" if question.diet == "anything" else question.diet + " ",
        limit=question.limit,
        parts=f"{', '.join(most)} and {last}",
    )
