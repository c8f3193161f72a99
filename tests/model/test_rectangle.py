"""A padded rectangle, with its mask, gives each prompt the answer it would have got alone."""

import pytest
import torch

import minibatch as mb
from minibatch.model.rectangle import answers, left_padded, next_words, right_padded

QUESTIONS = ["Hotels in Lisbon?", "Visa for Cairo?", "Make an itinerary of 14 days in Athens."]


@pytest.fixture(scope="module")
def model():
    return mb.load_model("wayfarer", device="cpu")


@pytest.fixture(scope="module")
def prompts(model):
    return [model.encode(model.chat(question)) for question in QUESTIONS]


def test_padding_goes_to_one_side_and_positions_count_real_tokens():
    ids, mask, positions = left_padded([[5, 6, 7], [8]], pad_token_id=9)
    assert ids.tolist() == [[5, 6, 7], [9, 9, 8]]
    assert mask.tolist() == [[1, 1, 1], [0, 0, 1]]
    assert positions.tolist() == [[0, 1, 2], [0, 0, 0]]
    ids, mask, positions = right_padded([[5, 6, 7], [8, 4]], pad_token_id=9)
    assert ids.tolist() == [[5, 6, 7], [8, 4, 9]]
    assert mask.tolist() == [[1, 1, 1], [1, 1, 0]]
    assert positions.tolist() == [[0, 1, 2], [0, 1, 0]]


def test_either_side_gives_the_right_word_where_a_real_token_is_read(model, prompts):
    alone = [next_words(model, *left_padded([prompt], 0))[0] for prompt in prompts]
    assert next_words(model, *left_padded(prompts, 0)) == alone
    on_the_right = right_padded(prompts, 0)
    last_real = on_the_right[1].sum(dim=1) - 1
    assert next_words(model, *on_the_right, places=last_real) == alone
    assert next_words(model, *on_the_right)[:2] != alone[:2]


def test_answers_are_the_engine_s_and_end_where_they_end(model, prompts):
    requests = [mb.Request(prompt, max_tokens=30) for prompt in prompts]
    done = mb.Engine(model, mb.Sequential()).run(requests)
    assert answers(model, *left_padded(prompts, 0), max_tokens=30) == [d.text for d in done]


def test_without_a_mask_a_short_prompt_gets_another_answer(model, prompts):
    ids, mask, positions = left_padded(prompts, 0)
    hotels, visa, athens = answers(model, ids, torch.ones_like(mask), positions)
    assert hotels == "The best months for Lisbon are April to June."
    assert "90 days" in visa
    assert athens == answers(model, ids, mask, positions)[2]
