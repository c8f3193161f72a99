"""Which belief would bring the learner's numbers?

An answer is made of parts; of each part the grader knows the right form, under the name "", and
others, each under the sentence that mends it. `why` looks for the fewest wrong parts that together
give every number the learner's function has given, and says their sentences. Where none do, nothing
is claimed.
"""

import itertools
import math

from minibatch.course.judging.desk_errors import Raised
from minibatch.course.judging.values import Array
from minibatch.course.judging.verdict import Wrong

MOST_WRONG = 3  # of more beliefs at once, some combination gives almost any number


def why(seen, together, *parts):
    """seen: pairs of arguments and answer. together: makes one answer of the parts' answers."""
    choices = itertools.product(*(part.items() for part in parts))
    few = sorted((c for c in choices if 1 <= _num_wrong(c) <= MOST_WRONG), key=_num_wrong)
    for _, alike in itertools.groupby(few, key=_num_wrong):
        fits = [c for c in alike if all(_gives(c, together, *pair) for pair in seen)]
        if fits:  # two that cannot be told apart are both told; of more, none is likely
            said = [" ".join(said for said, _ in choice if said) for choice in fits]
            return " Or: ".join(said) if len(said) <= 2 else ""
    return ""


def _num_wrong(choice):
    return sum(bool(said) for said, _ in choice)


def _gives(choice, together, arguments, answer):
    try:
        return same(together([form(*arguments) for _, form in choice]), answer)
    except (ArithmeticError, ValueError, IndexError):
        return False


def same(expected, got):
    """Equal, or as good as equal for floats; NaN equals nothing."""
    if isinstance(expected, float) and type(got) in (int, float):
        return math.isclose(expected, got, rel_tol=1e-9, abs_tol=1e-9)
    return expected == got


def not_a_number(got):
    """What to say of an answer that is no number at all; "" for one that is."""
    if got is None:
        return "your function returned nothing (None): end it with `return` and the number."
    if isinstance(got, Array):
        return "a plain number is asked for, and yours is a tensor: .item() takes it out."
    if type(got) not in (int, float):
        return f"a number is asked for, and yours is a {type(got).__name__}."
    return "that is no number (NaN)." if math.isnan(got) else ""


class Counted:
    """A function of the learner's that counts something.

    names: of its arguments. probes: arguments at which the beliefs differ. together, parts: of
    `why`. The right answer is that of the parts' right forms.
    """

    def __init__(self, name, names, probes, together, *parts):
        self.name, self.names, self.probes = name, names, probes
        self.together, self.parts = together, parts

    def right(self, *arguments):
        return self.together([part[""](*arguments) for part in self.parts])

    def check(self, student, arguments, otherwise):
        """The right number comes back, or the learner hears why not. otherwise: what to say of a
        number that no belief explains."""
        expected, got = self.right(*arguments), self.call(student, arguments)
        is_whole = isinstance(got, int) or not isinstance(expected, int)
        if same(expected, got) and not not_a_number(got) and is_whole:
            return
        shown = ", ".join(map(self._shown, self.names, arguments))
        said = not_a_number(got) or self._why(student, arguments, got) or otherwise
        if type(got) is float and math.isclose(got, expected):
            said = f"a whole number is asked for, and yours is the float {got}: divide by //."
        raise Wrong(f"{self.name}({shown}): {said}", expected=expected, got=got)

    def call(self, student, arguments):
        return student.call(self.name, **dict(zip(self.names, arguments, strict=True)))

    def _why(self, student, arguments, got):
        seen = [(arguments, got)]
        try:
            seen += [(probe, self.call(student, probe)) for probe in self.probes]
        except Raised:
            return ""
        return why(seen, self.together, *self.parts)

    @staticmethod
    def _shown(name, value):
        return f"{name}={value:,}" if isinstance(value, int) else f"{name}={value}"
