"""The codes of what graders tell: each stands before one sentence, and a result brings those of its
own sentence from the graders' process."""

import ast
import re
from collections import Counter

import pytest

from minibatch.course.judging.verdict import TestResult, Verdict, without_codes
from minibatch.course.judging.worker_errors import Raised
from minibatch.course.setup import ROOT

GRADERS = ROOT / "tests" / "exercises"
SOURCES = sorted(GRADERS.glob("*.py")) + sorted(
    (ROOT / "minibatch" / "course" / "judging").glob("*.py")
)
DECLARED = re.compile(r"(?<![\w\])])\[([a-z0-9]+(?:_[a-z0-9]+)+)\] ")


def declared(path):
    """[(code, sentence)] of a source file; of an f-string, its expressions in braces."""
    found = []
    tree = ast.parse(path.read_text(encoding="utf-8"))
    not_said = {id(part) for node in ast.walk(tree) for part in parts_of(node)}
    for node in ast.walk(tree):
        if id(node) in not_said:
            continue
        _, *pairs = DECLARED.split(text_of(node))
        found += zip(pairs[::2], pairs[1::2], strict=True)
    return found


def parts_of(node):
    """What stands in an f-string, and what stands alone, as a docstring does."""
    if isinstance(node, ast.JoinedStr):
        return [part for part in node.values if isinstance(part, ast.Constant)]
    return [node.value] if isinstance(node, ast.Expr) else []


def text_of(node):
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return f"{{{ast.unparse(node.value)}}}"
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_each_code_of_a_file_stands_before_one_sentence(path):
    pairs = declared(path)
    assert [code for code, said in pairs if not said.strip() or said[0] in " .,;:"] == []
    assert [code for code, count in Counter(code for code, _ in pairs).items() if count > 1] == []


def test_every_code_that_a_wrong_answer_names_is_declared():
    known = {code for path in SOURCES for code, _ in declared(path)}
    for path in sorted((GRADERS / "wrong").iterdir()):
        (code,) = re.findall(r"^code: (\w+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
        assert code in known or code.startswith("raises_"), path.name


def test_codes_are_taken_out_of_what_a_learner_reads():
    said = "In step 2: [padding_counted] padding counts ([count_is_off] it is rows[i_j] off)."
    assert without_codes(said) == (
        "In step 2: padding counts (it is rows[i_j] off).",
        ["padding_counted", "count_is_off"],
    )
    assert without_codes("[…] * n, a[i] and [request_id]") == ("[…] * n, a[i] and [request_id]", [])


@pytest.mark.parametrize(
    ("exception", "codes"),
    [("", []), ("KeyError", ["raises_key_error"]), ("OSError", ["raises_os_error"])],
)
def test_an_exception_has_a_code(exception, codes):
    assert Raised("said", exception=exception).codes == codes


def test_codes_survive_the_way_to_whoever_asked():
    result = TestResult("test_x", "x", 1, "wrong", "Two.", codes=["one_thing", "other_thing"])
    verdict = Verdict("4.1", "T", "ex04", [result])
    assert Verdict.from_dict(verdict.to_dict()).results[0].codes == ["one_thing", "other_thing"]


def test_the_same_codes_have_the_same_cause():
    one, other = (
        TestResult("x", "x", 1, "wrong", said, codes=["one_thing"]) for said in ("A", "B")
    )
    assert one.cause == other.cause
    assert one.cause != TestResult("x", "x", 1, "wrong", "A", codes=["other_thing"]).cause
