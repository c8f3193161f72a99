"""The small fixed world that Wayfarer was trained on: 24 cities, with visa rules.

Cities, sights and dishes are real. **Hotels, restaurants, airlines, prices and visa rules are
fiction**, so that an answer can be checked as true or false; do not plan a holiday with them.
The facts are in `cities.toml`; after a change of one, the model must be trained again.
"""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

HOME = "Amsterdam"  # every flight leaves from here
DIETS = ("anything", "vegetarian", "vegan", "halal", "gluten-free")
LIMITS = (80, 100, 120, 140, 160, 180, 200, 240)  # hotel limits in client files, euros a night
PASSPORTS = {  # nationality -> group that visa rules know
    "Dutch": "European",
    "German": "European",
    "Irish": "European",
    "British": "overseas",
    "American": "overseas",
    "Australian": "overseas",
    "Indian": "other",
    "Nigerian": "other",
}


@dataclass(frozen=True, slots=True)
class Hotel:
    """A hotel; `price` is in euros a night, `feature` a noun phrase such as "a roof terrace"."""

    name: str
    district: str
    price: int
    feature: str


@dataclass(frozen=True, slots=True)
class Restaurant:
    """A restaurant that serves one diet well; `price` is in euros for dinner."""

    name: str
    price: int


@dataclass(frozen=True, slots=True)
class VisaRule:
    """Whether a visa is needed, and for how many days one may stay (None: without limit)."""

    needed: bool
    days: int | None


@dataclass(frozen=True, slots=True)
class City:
    """A city: `hours` of flight and `fare` in euros, there and back, from Amsterdam.

    sights: 14, in the order in which an itinerary visits them, one a day.
    hotels: 3, from cheapest to dearest. restaurants: one for each diet.
    """

    name: str
    country: str
    zone: str
    airline: str
    hours: int
    fare: int
    months: str
    dish: str
    sights: tuple[str, ...]
    hotels: tuple[Hotel, ...]
    restaurants: dict[str, Restaurant]
    index: int

    def visa(self, passport: str) -> VisaRule:
        """The (fictional) rule for holders of this passport, a key of `PASSPORTS`."""
        return VISA_RULES[self.zone, PASSPORTS[passport]]

    def hotels_within(self, limit: int) -> tuple[Hotel, ...]:
        """Hotels of at most `limit` euros a night, cheapest first."""
        return tuple(hotel for hotel in self.hotels if hotel.price <= limit)


VISA_RULES = {  # (zone of the city, group of the passport)
    ("Europe", "European"): VisaRule(False, None),
    ("Europe", "overseas"): VisaRule(False, 90),
    ("Europe", "other"): VisaRule(True, 30),
    ("Mediterranean", "European"): VisaRule(False, 90),
    ("Mediterranean", "overseas"): VisaRule(False, 60),
    ("Mediterranean", "other"): VisaRule(True, 30),
    ("Africa", "European"): VisaRule(False, 60),
    ("Africa", "overseas"): VisaRule(False, 30),
    ("Africa", "other"): VisaRule(True, 60),
    ("Asia", "European"): VisaRule(False, 60),
    ("Asia", "overseas"): VisaRule(False, 45),
    ("Asia", "other"): VisaRule(True, 15),
    ("Americas", "European"): VisaRule(False, 90),
    ("Americas", "overseas"): VisaRule(False, 90),
    ("Americas", "other"): VisaRule(True, 45),
}


@cache
def cities() -> dict[str, City]:
    """Every city by name, in the order of `cities.toml`."""
    with open(Path(__file__).with_name("cities.toml"), "rb") as file:
        entries = tomllib.load(file)["city"]
    return {entry["name"]: _city(index, entry) for index, entry in enumerate(entries)}


def _city(index: int, entry: dict) -> City:
    return City(
        **{
            **entry,
            "sights": tuple(entry["sights"]),
            "hotels": tuple(Hotel(*hotel) for hotel in entry["hotels"]),
            "restaurants": {
                diet: Restaurant(*restaurant)
                for diet, restaurant in zip(DIETS, entry["restaurants"], strict=True)
            },
        },
        index=index,
    )
