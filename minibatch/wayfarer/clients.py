"""The agency's clients, each a function of a number: passport, diet, limit, past trips, notes.

`client(7)` is the same person everywhere: in training, in a test and in a lesson. Every person here
is invented.
"""

import random
from dataclasses import dataclass

from minibatch.wayfarer.world import DIETS, LIMITS, PASSPORTS, City, Hotel, cities

YEARS = range(2014, 2026)
NUM_CLIENTS = 100_000  # clients that training may use; it never sees a greater number

_FIRST_NAMES = """
Nora Daan Amina Pieter Sofia Lucas Fatima Jonas Priya Emeka Clara Hugo Leila Bram Zoë Oscar Maya
Finn Ingrid Rashid Julia Sven Chloé Arjun Grace Tomás Elif Victor Hanna Samir Olivia Noah Aisha
Ruben Marta Kofi Eva Dylan Rosa Felix Yara Simon Iris Tariq Anouk Liam Meera Casper Lotte Malik
Stella Ivan Nadia Owen Vera Gideon Sanne Ravi Helen Milan Tess Boris
"""
_LAST_NAMES = """
Visser Bakker Hassan Jansen Rossi Meyer Khalil Larsson Sharma Okafor Dubois Novak Haddad Mulder
Carter Fischer Murphy Patel Smit Costa Kelly Weber Bello Dekker Walsh Ahmed Brandt Singh Evans
Moreau
Kuiper Nwosu Hoffman Reddy Byrne Vos Schmidt Adeyemi Clarke Postma Gupta Turner Wolf Eze Hendriks
Doyle Iyer Wagner Parker Bosman Hughes Keller Musa Prins Nolan Desai Becker Sutton Kramer Lange
"""
FIRST_NAMES, LAST_NAMES = tuple(_FIRST_NAMES.split()), tuple(_LAST_NAMES.split())

NOTES = """
Window seat.
Aisle seat.
No late flights.
Light sleeper.
Likes museums.
Travels light.
Asks for a quiet room.
Prefers trains to taxis.
Never books before breakfast.
Collects fridge magnets.
Pays by bank transfer.
Speaks fluent Spanish.
Wants tickets on paper.
Afraid of small planes.
Walks with a cane, so no long stairs.
Travels with a folding bicycle.
Likes to land before dark.
Sends a postcard from every trip.
Prefers a room on a high floor.
Asks for a late check-out on the last day.
Usually brings a sister along.
Answers messages only in the evening.
Wants the invoice sent to the office.
Enjoys long walks along the water.
Needs a desk and a good lamp in the room.
Would rather read than go to a concert.
Gets up early and likes an early breakfast.
Asked us twice for a travel insurance form.
Lost a suitcase once and now carries hand luggage only.
Keeps the last day of every trip free of plans.
Likes to hear about a city's history before going there.
Told us that a friend recommended our agency.
Allergic to feathers; ask the hotel for other pillows.
Wishes to be called on the mobile phone, never at work.
Photographs bridges and always asks for the best view of one.
Changes plans easily, as long as we call the evening before.
Prefers one good meal a day to three quick ones.
Has a museum card and a library card, and uses both.
Was very happy with our help after a cancelled flight.
Likes markets, small shops and anything made by hand.
Would like to travel more slowly and see fewer places.
Reads every guide we send and often knows more than we do.
Once missed a ferry and has asked for wide margins ever since.
Paints in the afternoon, so mornings are best for tours.
Asked for a list of swimming pools near the hotel.
Thinks that airports are the best part of any journey.
""".strip().splitlines()


@dataclass(frozen=True, slots=True)
class Trip:
    """A past trip: the year, the city and the hotel where the client stayed."""

    year: int
    city: City
    hotel: Hotel


@dataclass(frozen=True, slots=True)
class Client:
    """A traveller's file; `limit` is the most that a hotel may cost, in euros a night."""

    number: int
    first: str
    last: str
    passport: str
    diet: str
    limit: int
    trips: tuple[Trip, ...]
    notes: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.first} {self.last}"


def client(number: int) -> Client:
    """The client with this number: 8 trips, each in its own year, oldest first, and all notes.

    A prompt shows as much of it as fits: see `policy.client_file`.
    """
    rng = random.Random(f"client {number}")
    places = rng.sample(list(cities().values()), k=8)
    years = sorted(rng.sample(YEARS, k=8))
    return Client(
        number=number,
        first=rng.choice(FIRST_NAMES),
        last=rng.choice(LAST_NAMES),
        passport=rng.choice(tuple(PASSPORTS)),
        diet=rng.choice(DIETS),
        limit=rng.choice(LIMITS),
        trips=tuple(
            Trip(year, city, rng.choice(city.hotels))
            for year, city in zip(years, places, strict=True)
        ),
        notes=tuple(rng.sample(NOTES, k=len(NOTES))),
    )
