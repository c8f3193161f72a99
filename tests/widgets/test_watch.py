"""Answers grow in boxes side by side: who writes, who waits."""

import re
import sys
import threading

import pytest

import minibatch as mb


@pytest.fixture
def pages(monkeypatch):
    """Every moment that was drawn, as its words."""
    drawn = []
    assert callable(mb.widgets.watch)  # and so it is loaded

    class Shown:
        def update(self, html):
            words = re.sub(r"(?s)<style>.*?</style>|<[^>]*>", " ", html.data)
            drawn.append(" ".join(words.split()))

    shown = Shown()
    show = lambda html, display_id: (shown.update(html), shown)[1]  # noqa: E731
    monkeypatch.setattr(sys.modules["minibatch.widgets.watching"], "display", show)
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    return drawn


def watch(policy):
    engine = mb.Engine(mb.PretendModel(), policy, clock=mb.VirtualClock())
    lengths = {"Anna": 3, "Ben": 2}
    requests = [mb.Request([0], max_tokens=n, request_id=name) for name, n in lengths.items()]
    mb.widgets.watch(engine, requests, slow=1e-6)
    assert not engine.has_work
    assert not engine._callbacks
    return engine


def test_one_after_another_the_second_waits_for_the_first(pages):
    watch(mb.Sequential())
    assert pages[0] == "before the first pass · 2 requests wait Anna · waits Ben · waits"
    assert pages[3] == "pass 2 · a token for Anna · 1 waits Anna · 2 tokens so far Ben · waits"
    assert pages[-1] == (
        "5 passes · 5 tokens Anna · 3 tokens, passes 1–3 Ben · 2 tokens, passes 4–5"
    )


def test_together_both_get_a_token_in_every_pass(pages):
    watch(mb.Continuous(2))
    assert pages[2].startswith("pass 1 · a token each for Anna, Ben")
    assert pages[-1].endswith("Anna · 3 tokens, passes 1–3 Ben · 2 tokens, passes 1–2")


def test_a_chat_s_question_is_shown_and_the_rest_of_its_prompt_is_not(pages):
    prompt = "<|system|>secret<|end|><|user|>Dinner in <b>?<|end|><|assistant|>"
    request = mb.Request(prompt, request_id="A")
    page = sys.modules["minibatch.widgets.watching"]
    assert page._question(request) == "Dinner in <b>?"
    box = page.Box("A", page._question(request))
    assert "Dinner in &lt;b&gt;?" in page._page({"A": box}, None)


def test_answers_of_clients_grow_from_threads_of_their_own():
    answers = mb.widgets.Answers({"Rosa": "Dinner in <b>?", "Ben": "Hotels?"})
    assert "Dinner in &lt;b&gt;?" in answers.value
    assert "0 of 2 answers complete" in answers.value

    def answer(name):
        for piece in ("For ", "dinner", "."):
            answers.add(name, piece)
        answers.end(name)

    threads = [threading.Thread(target=answer, args=(name,)) for name in ("Rosa", "Ben")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert "2 of 2 answers complete" in answers.value
    assert answers.value.count("For dinner.") == 2
    with pytest.raises(KeyError):
        answers.add("Anna", "x")
