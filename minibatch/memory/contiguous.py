"""KV memory without blocks: one unbroken stretch for each request, as servers had it before paging.

Two questions, answered apart. How much does a request reserve when it is admitted (`the_maximum`,
`next_power_of_two`, `told_the_length`: the three that Kwon et al., 2023, section 6.1, give Orca)?
And where does the stretch lie (`FirstFit`, `Buddy`)? Before changing this file: a stretch is never
moved, since K and V are read where they were written; so holes stay until a neighbour leaves.

    | AAAAAAAA..  |BBB....|   hole   |CCCCCC.......|hole|     . reserved, nothing in it yet
"""

from collections.abc import Callable

from ..core.checks import integer
from ..core.request import Request

Ask = Callable[[Request], int]  # how many tokens a request reserves


def final_length(request: Request) -> int:
    """Tokens whose K and V it will have stored at its end: all but the last, which nothing follows.

    request: its prompt a list of ids; its max_tokens what it is going to write.
    """
    return len(request.prompt) + request.max_tokens - 1


def the_maximum(max_model_len: int) -> Ask:
    """Every request reserves the model's whole context ("Orca (Max)")."""
    return lambda request: max_model_len


def next_power_of_two(request: Request) -> int:
    """The prompt, and the answer rounded up to a power of two: for 25, 32 ("Orca (Pow2)")."""
    return len(request.prompt) + power_of_two(request.max_tokens)


def told_the_length(request: Request) -> int:
    """As if somebody knew beforehand how long the answer will be ("Orca (Oracle)")."""
    return final_length(request)


def power_of_two(number: int) -> int:
    """The least power of two that is no less: of 5, 8."""
    return 1 << (number - 1).bit_length()


class FirstFit:
    """Places 0 .. num_tokens - 1; a stretch goes to the first hole that is long enough."""

    def __init__(self, num_tokens: int) -> None:
        self.num_tokens = integer("num_tokens", num_tokens, at_least=1)
        self._taken: list[range] = []  # in order

    @property
    def holes(self) -> list[range]:
        """What nobody has, in order; neighbours are one hole."""
        edges = [0, *(edge for place in self._taken for edge in (place.start, place.stop))]
        edges.append(self.num_tokens)
        return [range(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True) if a < b]

    def takes(self, num_tokens: int) -> int:
        """How long a stretch is taken for so many tokens."""
        return num_tokens

    def allocate(self, num_tokens: int) -> range | None:
        """A stretch of `takes(num_tokens)`; None, and nothing taken, if no hole is that long."""
        for hole in self.holes:
            if len(hole) >= num_tokens:
                place = range(hole.start, hole.start + num_tokens)
                self._taken = sorted([*self._taken, place], key=lambda place: place.start)
                return place
        return None

    def free(self, place: range) -> None:
        """Give a stretch back. Raises ValueError if it was not handed out, or is back already."""
        self._taken.remove(place)


class Buddy:
    """Places 0 .. num_tokens - 1, in stretches of powers of two: a hole is halved until the half
    would be too short; two halves of one hole become one again when both are free.

    Whatever is asked is rounded up, so that holes fit together. (Knowlton, 1965; Kwon et al.
    assume it of Orca)
    """

    def __init__(self, num_tokens: int) -> None:
        self.num_tokens = integer("num_tokens", num_tokens, at_least=1)
        self._holes: set[range] = set()
        self._taken: set[range] = set()
        start = 0
        for power in reversed(range(num_tokens.bit_length())):  # 6,144 = 4,096 + 2,048
            if num_tokens & 1 << power:
                self._holes.add(range(start, start + (1 << power)))
                start += 1 << power

    @property
    def holes(self) -> list[range]:
        """What nobody has, in order; only halves of one hole are ever joined."""
        return sorted(self._holes, key=lambda hole: hole.start)

    def takes(self, num_tokens: int) -> int:
        """How long a stretch is taken for so many tokens."""
        return power_of_two(num_tokens)

    def allocate(self, num_tokens: int) -> range | None:
        """A stretch of `takes(num_tokens)`; None, and nothing taken, if no hole is that long."""
        size = self.takes(num_tokens)
        fitting = [hole for hole in self._holes if len(hole) >= size]
        if not fitting:
            return None
        hole = min(fitting, key=lambda hole: (len(hole), hole.start))
        self._holes.remove(hole)
        while len(hole) > size:
            middle = hole.start + len(hole) // 2
            self._holes.add(range(middle, hole.stop))
            hole = range(hole.start, middle)
        self._taken.add(hole)
        return hole

    def free(self, place: range) -> None:
        """Give a stretch back. Raises KeyError if it was not handed out, or is back already."""
        self._taken.remove(place)
        while (buddy := _buddy(place)) in self._holes:
            self._holes.remove(buddy)
            place = range(min(place.start, buddy.start), max(place.stop, buddy.stop))
        self._holes.add(place)


def _buddy(place: range) -> range:
    """The other half of the hole that this one was cut from."""
    start = place.start ^ len(place)
    return range(start, start + len(place))
