"""The glossary names what is there, and lessons use its words as it says."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LESSONS = sorted((ROOT / "lessons").glob("*.ipynb"))
ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \| \[(\d\d)\]\(([^)]+)\) \| ([^|]+) \|$", re.MULTILINE)
WORDS = ROW.findall((ROOT / "lessons/GLOSSARY.md").read_text(encoding="utf-8"))

# Each of these verbs has one object: a request is preempted or refused, a cached block is evicted,
# a draft token is rejected.
MISUSED = re.compile(
    r"\b(evict\w*|reject\w*) (a|the|one|another|any) request"
    r"|\brequests? (is|are|was|were) (evicted|rejected)"
    r"|\bpreempt\w* (a|the|one) (cached )?block"
    r"|\b(draft tokens?|guess(es)?) (is|are|was|were) refused",
    re.IGNORECASE,
)


def prose(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")


def test_words_stand_in_order_and_once():
    words = [word for word, *_ in WORDS]
    assert len(words) > 30
    assert words == sorted(set(words), key=str.casefold)


@pytest.mark.parametrize(("word", "number", "name"), [(w, n, f) for w, _, n, f, _ in WORDS])
def test_the_lesson_of_a_word_uses_it(word, number, name):
    assert name.startswith(number)
    stem = re.sub(r" \(.*\)", "", word)[:6]
    assert stem.casefold() in prose(ROOT / "lessons" / name).casefold()


@pytest.mark.parametrize(("word", "code"), [(w, c) for w, *_, c in WORDS if c.strip() != "–"])
def test_the_names_of_the_code_are_there(word, code):
    *names, file = re.findall(r"`([^`]+)`", code)
    text = (ROOT / "minibatch" / file).read_text(encoding="utf-8")
    for name in names:
        for part in name.split("."):
            pattern = rf"^\s*(def|class) {part}\b|^\s+(self\.)?{part}\b.*[:=]"
            assert re.search(pattern, text, re.MULTILINE) or part == "Completion", (part, file)


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_links_the_glossary_and_uses_its_verbs(path):
    text = prose(path)
    assert "(GLOSSARY.md)" in text
    assert not MISUSED.search(text), MISUSED.search(text)[0]
