"""Which belief would bring the learner's numbers?

An answer is made of parts; of each part the grader knows the right form, under the name "", and
others, each under the sentence that mends it (several in a tuple, where one sentence mends all).
`why` looks for the fewest wrong parts that together give every number the learner's function has
given, and says their sentences. Where none do, nothing is claimed.
"""

import contextlib
import itertools
import math

from minibatch.course.judging.values import Array, Lent, Strange
from minibatch.course.judging.verdict import Wrong
from minibatch.course.judging.worker_errors import Raised

CALLERS_LIST, IS_WITHHELD = "[changes_the_callers_list]", "[part_is_withheld]"  # from a worker
MOST_WRONG = 3  # of more beliefs at once, some combination gives almost any number


def why(seen, together, *parts):
    """seen: pairs of arguments and answer. together: makes one answer of the parts' answers."""
    for num_wrong in range(1, MOST_WRONG + 1):
        fits = {}  # what is said, once
        for choice in _choices(parts, num_wrong):
            if all(_gives(choice, together, *pair) for pair in seen):
                fits[" ".join(said for said, _ in choice if said)] = None
        if fits:  # two that cannot be told apart are both told; of more, none is likely
            return " Or: ".join(fits) if len(fits) <= 2 else ""
    return ""


def rewritten(part, change):
    """A part with each of its forms changed by `change`."""
    return {
        said: tuple(map(change, forms)) if isinstance(forms, tuple) else change(forms)
        for said, forms in part.items()
    }


def _choices(parts, num_wrong):
    """Every choice of a form of each part, just so many of them wrong: (sentence, form) pairs."""
    right = [("", part[""]) for part in parts]
    wrong = [
        [
            (said, form)
            for said, forms in part.items()
            if said
            for form in (forms if isinstance(forms, tuple) else (forms,))
        ]
        for part in parts
    ]
    for places in itertools.combinations(range(len(parts)), num_wrong):
        for forms in itertools.product(*(wrong[place] for place in places)):
            choice = list(right)
            for place, form in zip(places, forms, strict=True):
                choice[place] = form
            yield choice


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
        return (
            "[returned_nothing] your function returned nothing (None). End it with `return` and "
            "the number."
        )
    if isinstance(got, Array):
        return (
            "[tensor_for_a_number] your answer is a tensor; return a plain number. Use .item() "
            "to get the number of the tensor."
        )
    if type(got) not in (int, float):
        return f"[not_a_number] your answer is {a_kind(got)}; return a number."
    return "[number_is_nan] your answer is NaN, which is not a number." if math.isnan(got) else ""


def as_parts(expected, got):
    """What to say of several numbers that add up to the one asked for."""
    is_several = isinstance(got, list | tuple) and all(type(one) in (int, float) for one in got)
    if is_several and len(got) == 1 and same(expected, got[0]):
        return (
            "[list_for_a_number] your answer is a list that holds a number; return the plain "
            "number."
        )
    if is_several and same(expected, sum(got)):
        return (
            f"[parts_not_added_up] your answer has {len(got)} numbers; return one number. Add "
            "them up."
        )
    return ""


def as_a_float(expected, got):
    """What to say of the right number, if it was to be whole."""
    if type(got) is float and math.isclose(got, expected):
        return (
            f"[float_for_a_whole_number] your answer is the float {got}; return a whole number. "
            "Use int(...), or // in place of /."
        )
    return ""


@contextlib.contextmanager
def input_shown(shown):
    """If the learner's function fails in this block, its sentence begins with the call."""
    try:
        yield
    except Raised as error:
        if CALLERS_LIST not in error.sentence and IS_WITHHELD not in error.sentence:
            error.sentence = f"{shown} fails with {error.sentence.rstrip('.')}."
        raise


def calls_shown(student, name, cases):
    """The answers to all of these cases at once. If one fails, it is looked for by halves."""
    try:
        return student.calls(name, cases)
    except Raised:
        half = len(cases) // 2
        if not half:
            with input_shown(f"{name}({', '.join(map(str, cases[0]))})"):
                return student.calls(name, cases)
        return calls_shown(student, name, cases[:half]) + calls_shown(student, name, cases[half:])


def a_kind(got):
    """What kind of thing it is: "a list", "an int", "a generator"."""
    kind = "tensor" if isinstance(got, Array) else type(got).__name__
    kind = got.kind if isinstance(got, Strange) else kind
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


def in_units(unit):
    """The part that comes last: what became of the number in the end."""
    return {
        "": lambda *_: lambda number: number,
        f"[in_thousands] your answer is in thousands of {unit}; return {unit}.": (
            lambda *_: lambda number: number / 1000,
            lambda *_: lambda number: number // 1000,
            lambda *_: lambda number: number / 1024,
            lambda *_: lambda number: number // 1024,
        ),
        f"[in_millions] your answer is in millions of {unit}; return {unit}.": (
            lambda *_: lambda number: number / 10**6,
            lambda *_: lambda number: number // 10**6,
            lambda *_: lambda number: number / 2**20,
            lambda *_: lambda number: number // 2**20,
        ),
        f"[in_thousands_of_millions] your answer is in thousands of millions of {unit}; return "
        f"{unit}.": (
            lambda *_: lambda number: number / 10**9,
            lambda *_: lambda number: number / 2**30,
        ),
    }


def then(together):
    """Made of the parts but the last, of which the last then makes the answer."""
    return lambda parts: parts[-1](together(parts[:-1]))


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
        shown = ", ".join(map(self._shown, self.names, arguments))
        expected, got = self.right(*arguments), None
        try:
            got = self.call(student, arguments)
        except Raised as error:
            error.sentence = self._failing(shown, error.sentence, otherwise)
            raise
        is_whole = isinstance(got, int) or not isinstance(expected, int)
        if same(expected, got) and not not_a_number(got) and is_whole:
            return
        said = (
            as_parts(expected, got)
            or not_a_number(got)
            or as_a_float(expected, got)
            or self._why(student, arguments, got)
            or otherwise
        )
        raise Wrong(f"{self.name}({shown}): {said}", expected=expected, got=got)

    def _failing(self, shown, sentence, otherwise):
        if CALLERS_LIST in sentence:
            return sentence
        if "object is not callable" in sentence:
            otherwise = (
                f"[calls_a_number] you call an argument as a function, but {', '.join(self.names)} "
                "are numbers."
            )
        return f"{self.name}({shown}) fails with {sentence} ({otherwise.rstrip('.')})."

    def call(self, student, arguments):
        return student.call(self.name, **dict(zip(self.names, arguments, strict=True)))

    def _why(self, student, arguments, got):
        seen = [(arguments, got)]
        try:
            seen += [(probe, self.call(student, probe)) for probe in self.probes]
            if all(same(got, answer) for _, answer in seen):
                if said := self._changes_a_list(student, arguments):
                    return said
                alike = (12,) * len(arguments)
                if all(type(value) is int for value in arguments) and not same(
                    got, self.call(student, alike)
                ):
                    return why(seen, self.together, *self.parts)
                near = all(abs(got - self.right(*arguments)) < 1 for arguments, _ in seen)
                cut = ": // drops the fraction; use / to keep it"
                return (
                    f"[always_the_same_number] you return {got}, whatever the arguments "
                    f"are{cut * (near and type(got) is int)}."
                )
            return why(seen, self.together, *self.parts) or self._out_of_step(student)
        except Raised:
            return ""

    def _changes_a_list(self, student, arguments):
        """What to say if a list that came in is changed; "" if none is."""
        lent = [Lent(value) if type(value) is list else value for value in arguments]
        try:
            self.call(student, lent)
        except Raised as error:
            return error.sentence if CALLERS_LIST in error.sentence else ""
        return ""

    def _out_of_step(self, student):
        """What to say if the answer follows one or two arguments in another way than it should:
        neither grows by as much when one is doubled, nor as many times."""
        for arguments in self.probes:
            if not all(type(value) is int for value in arguments):
                return ""
            right, got = self.right(*arguments), self.call(student, arguments)
            found = []
            for place, (name, value) in enumerate(zip(self.names, arguments, strict=True)):
                twice = [*arguments[:place], 2 * value, *arguments[place + 1 :]]
                due, there = self.right(*twice), self.call(student, twice)
                if not_a_number(got) or not_a_number(there):
                    return ""
                if not same(due - right, there - got) and not same(due * got, there * right):
                    found.append(
                        f"[grows_otherwise] your answer does not depend on {name} as the right "
                        "answer does. Take another case, "
                        f"{', '.join(map(self._shown, self.names, arguments))}, and double "
                        f"{name}. The right answer goes from {right:,} to {due:,}, and your "
                        f"answer goes from {got:,} to {there:,}."
                    )
            if 1 <= len(found) <= 2:
                return found[-1]
        return ""

    @staticmethod
    def _shown(name, value):
        return f"{name}={value:,}" if isinstance(value, int) else f"{name}={value}"
