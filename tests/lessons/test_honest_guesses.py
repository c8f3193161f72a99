"""Nothing that a reader sees while guessing gives the answer: it is in the output or in a fold.

A prediction's answer is in the outputs of the code cells that follow. The Markdown between the
prediction and the code cell after those is on the same screen. `ANSWERS` has the number or the
words that would give the answer away; "" for a prediction of milliseconds or of money, which
depends on the machine and cannot stand in a text.
"""

import json
import re
from pathlib import Path

import pytest

LESSONS = Path(__file__).parents[2] / "lessons"
MINE = ""  # measured on the reader's machine
ANSWERS = {
    "00": {"two": r"fraction of the price", "eight": MINE},
    "01": {
        "read": MINE,
        "cached": r"hardly (moves|grows)|nearly the same after few",
        "prompts": r"\b2\.5\b",
        "intact": r"\b1 of 20\b|only the first",
        "step": r"few times as long",
        "first": MINE,
    },
    "02": {
        "alive": r"47\.8|staircase",
        "quicker": r"not four times",
        "right": r"[Tt]hree rows|\b1 of 4\b",
        "unmasked": r"\b2 of 4\b|months|keeps its answer",
        "ninth": r"5\.0 s|5\.025",
        "at_once": r"\b200 steps\b",
    },
    "03": {
        "first_batch": r"leaves alone",
        "best_window": r"half a second",
        "window": r"later|wins nothing",
        "newest": r"9\.7|does not leave|so late",
    },
    "04": {
        "mask": r"no other request|nothing changes for B|\b1 of 2\b|Which answer",
        "alone": r"not one answer|\b0 of 8\b|saves steps under two",
        "first": r"step 21",
        "fifty": r"\b710\b",
        "completed": r"\b16\b",
        "done": r"[Ff]ewer than the 16|few requests more|[Hh]ardly more|8, 9 and 9",
        "heartbeat": MINE,
        "longer": MINE,
        "orders": r"\b265\b",
        "leak": r"\b10 of\b|\bten\b",
    },
    "05": {
        "share": r"\b325\b|almost all of",
        "slot": r"\b46\b",
        "slotless": r"All three write|\b0 of 3\b",
        "freed": r"not erased|0 of 16",
        "both": MINE,
        "ones": r"hardly shows",
        "forks": r"\b63\b",
        "greedy": r"you cannot see it|\b0 of 3\b",
        "kept": r"\b2 of 5\b|[Tt]hree of|B, C and D got",
        "gpu": r"\b26,306\b|51\.38",
    },
    "06": {
        "stride": r"1,024",
        "deal": r"eight times|\b8 times",
        "barrier": r"\b31 of 32\b",
        "shuffle": r"\b1 of 2\b|about one of the two",
        "banks": r"\b32 passes\b",
        "flight": r"\b[78](\.\d)? KB",
        "ahead": r"\b32 KB|four times",
        "waves": r"\b6 ?%",
        "join": r"other part|keeps its sums",
        "window": r"\b4 of 8\b|half of the agents",
    },
    "07": {
        "found": r"\b656\b",
        "together": r"computed now|Nothing is found",
        "again": r"\b784\b",
        "holders": r"\b3 holders|two holders",
        "sooner": r"lower than the printed ratio",
        "chat": r"\b98 ?%",
        "hits": r"37 %|times the smallest pool",
        "trunk": r"out of reach|\b0 of 7\b",
        "collision": r"\b2 of 8\b",
        "early": r"all 32|\b32 tokens",
        "salt": MINE,
        "clock": r"fills the pool|\b0 of 800\b",
    },
    "08": {
        "hitch": MINE,
        "p99": r"hides the pause completely",
        "together": r"as long as the prompt alone",
        "chunks": r"\b11 chunks|\beleven\b",
        "chunked": MINE,
        "forgotten": r"first two runs|first line stays the same",
        "budget": MINE,
        "traffic": MINE,
        "offline": r"fixed cost fewer times|costs far more",
        "short": r"\b19\b",
    },
    "09": {
        "thrown": r"\b176\b",
        "ranking": r"\b39 ?%",
        "livelock": r"\b176\b|preemption destroys",
        "reserve": r"third more steps|2,337",
        "promised": r"\b24 ?%",
        "starving": r"\bstarves\b",
        "queue": r"half a minute",
        "refusing": r"\b235\b",
    },
    "10": {
        "five": MINE,
        "steps": r"\b15 steps\b",
        "changed": r"change no answer|stricter rule|\b0 of 8\b",
        "believed": r"Junior's mistakes|\b0 of 8\b",
        "held": r"same step|return(s)? (to the pool|of blocks)",
        "guide": r"2\.40",
        "lookup": r"Not here|1\.37",
        "until": MINE,
    },
    "11": {
        "honest": MINE,
        "due": MINE,
        "spread": r"\b3\.6\b",
        "error": MINE,
        "knee": MINE,
        "flatter": r"\b1\.1\b|no row that waits",
        "starve": r"[Ii]ts score is better",
        "alone": r"\b1\.0\b|worth nothing",
        "million": MINE,
    },
    "12": {
        "way": MINE,
        "cancel": MINE,
        "whose": MINE,
        "full": MINE,
        "lanes": r"\b20 ?%",
    },
    "13": {
        "one_queue": r"\b13\.4\b|twice|factor of two",
        "round_robin": r"\b3\.8\b|most of the work",
        "affinity": r"\b2 of\b|[Tt]wo of|half of the fleet",
        "manuals": r"\b(69|70) ?%",
        "stale": r"\b[24]00 ms",
        "apart": r"\b(9|10|11)\.[0-9]",
        "day": r"\b77 ?%",
    },
    "14": {
        "fcfs": r"\b0\.56\b",
        "five": r"\b0\.75\b",
        "starve": r"\b0\.88\b",
        "order": r"\b0\.2[67]\b|worth nearly everything",
        "seeds": r"\b0\.7[78]",
    },
}


def cells_of(number):
    (path,) = LESSONS.glob(f"{number}_*.ipynb")
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [(cell["cell_type"], "".join(cell["source"])) for cell in cells]


def seen_while_guessing(number):
    """For each prediction, by name: the unfolded Markdown up to the code after the answer's."""
    cells = cells_of(number)
    for place, (kind, source) in enumerate(cells):
        asked = re.search(r'mb\.predict(?:_curve)?\(\s*"(\w+)"', source)
        if kind != "code" or not asked:
            continue
        rest = cells[place + 1 :]
        first = next(i for i, (kind, _) in enumerate(rest) if kind == "code")
        after = next(i for i in range(first, len(rest)) if rest[i][0] == "markdown")
        then = next((i for i in range(after, len(rest)) if rest[i][0] == "code"), len(rest))
        text = "\n".join(source for kind, source in rest[:then] if kind == "markdown")
        yield asked[1], re.sub(r"<details>.*?</details>", "", text, flags=re.DOTALL)


@pytest.mark.parametrize("number", ANSWERS)
def test_no_answer_is_seen_below_its_guess(number):
    seen = dict(seen_while_guessing(number))
    assert sorted(seen) == sorted(ANSWERS[number])  # a new prediction needs its answer here
    given = {
        name: found[0]
        for name, answer in ANSWERS[number].items()
        if answer and (found := re.search(answer, seen[name]))
    }
    assert given == {}


def test_every_lesson_is_looked_at():
    lessons = sorted(path.name[:2] for path in LESSONS.glob("[0-9]*.ipynb"))
    assert lessons == sorted(ANSWERS)
