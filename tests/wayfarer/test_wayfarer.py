"""Wayfarer: the corpus it learnt from, the examiner, and the trained model itself."""

import json
import random
from itertools import islice

import pytest
from safetensors import safe_open
from transformers import AutoConfig, AutoTokenizer

import minibatch as mb
from minibatch.wayfarer import RUNNING_EXAMPLE, WEIGHTS
from minibatch.wayfarer.checking import check
from minibatch.wayfarer.clients import client
from minibatch.wayfarer.policy import fill_prompt, rendered_length
from minibatch.wayfarer.questions import phrasings, query
from minibatch.wayfarer.training.answers import answer
from minibatch.wayfarer.training.corpus import KINDS, conversations, draw_question
from minibatch.wayfarer.training.evaluation import behind_long_prompts, examine, held_out
from minibatch.wayfarer.world import cities


def questions(count, *, with_client):
    rng = random.Random(7)
    return [
        draw_question(rng, client(rng.randrange(1_000)) if with_client else None)
        for _ in range(count)
    ]


# The corpus and its examiner ---------------------------------------------------------------------


def test_the_world_has_24_cities_each_with_its_own_sights_and_hotels():
    world = cities().values()
    assert len(world) == 24
    hotels = [hotel.name for city in world for hotel in city.hotels]
    assert len(hotels) == len(set(hotels)) == 72
    assert all(len(set(city.sights)) == 14 for city in world)


def test_the_same_seed_gives_the_same_corpus():
    first, second = (list(islice(conversations("a seed", "client"), 20)) for _ in range(2))
    assert first == second


def test_training_never_sees_what_is_held_out():
    for setting in ("plain", "client"):
        for turns in islice(conversations("any", setting), 200):
            assert not any(turn.held_out for turn in turns)
    assert all(example.held_out for example in held_out(30, clients=False))


@pytest.mark.parametrize("with_client", [False, True])
def test_the_examiner_accepts_every_true_answer(with_client):
    for question in questions(300, with_client=with_client):
        verdict = check(question, answer(question))
        assert verdict.good, (answer(question), verdict.problems)
        assert verdict.wishes is not False


@pytest.mark.parametrize("with_client", [False, True])
def test_the_examiner_catches_a_changed_digit(with_client):
    for question in questions(200, with_client=with_client):
        truth = answer(question)
        digits = [i for i, letter in enumerate(truth) if letter.isdigit()]
        if digits:
            i = digits[len(digits) // 2]
            wrong = truth[:i] + str((int(truth[i]) + 1) % 10) + truth[i + 1 :]
            verdict = check(question, wrong)
            assert not (verdict.good and verdict.wishes is not False), wrong


def test_the_examiner_catches_a_missing_day():
    question = draw_question(random.Random(3), kind="itinerary")
    lines = answer(question).split("\n")
    assert check(question, "\n".join(lines)).days
    assert not check(question, "\n".join(lines[:1] + lines[2:])).days


def test_an_answer_that_did_not_end_by_itself_is_not_good():
    [question] = questions(1, with_client=False)
    assert not check(question, answer(question), ended=False).good


def test_every_kind_of_question_can_be_put_in_six_ways_or_more():
    for kind in KINDS:
        assert len(phrasings(draw_question(random.Random(1), kind=kind))) >= 6


# The model ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wayfarer():
    return mb.load_model(WEIGHTS)


def test_the_model_is_as_small_as_it_says_and_its_shapes_cannot_be_confused():
    config = AutoConfig.from_pretrained(WEIGHTS)
    assert config.architectures == ["LlamaForCausalLM"]
    shape = {
        config.num_hidden_layers,
        config.num_attention_heads,
        config.num_key_value_heads,
    }
    assert len(shape) == 3
    assert config.vocab_size <= 2048
    assert config.max_position_embeddings == 2048
    with safe_open(WEIGHTS / "model.safetensors", "pt") as tensors:
        shapes = [tensors.get_slice(name).get_shape() for name in tensors.keys()]  # noqa: SIM118
        dtypes = {tensors.get_slice(name).get_dtype() for name in tensors.keys()}  # noqa: SIM118
    parameters = sum(shape[0] * (shape[1] if len(shape) > 1 else 1) for shape in shapes)
    assert parameters <= 5_500_000
    assert dtypes == {"BF16"}
    assert (WEIGHTS / "model.safetensors").stat().st_size <= 11_000_000


def test_a_chat_and_its_string_give_the_same_tokens():
    tokenizer = AutoTokenizer.from_pretrained(WEIGHTS)
    messages = [{"role": "system", "content": "São Paulo"}, {"role": "user", "content": "Zürich?"}]
    text = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    ids = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
    assert tokenizer.encode(text) == ids
    assert tokenizer.decode(ids) == text


@pytest.mark.parametrize("num_tokens", [80, 130, 750, 801, 1_024, 1_300])
def test_a_prompt_is_filled_to_the_token(num_tokens):
    tokenizer = AutoTokenizer.from_pretrained(WEIGHTS)
    for number in range(5):
        question = draw_question(random.Random(number), client(number))
        filled = fill_prompt(tokenizer, query(question, 0), num_tokens, client(number))
        assert rendered_length(tokenizer, filled.messages) == num_tokens


def test_held_out_questions_are_answered_truly(wayfarer):
    """A sample of the card's exam; `python -m minibatch.wayfarer.evaluate` gives all of it."""
    short = held_out(24, clients=False) + held_out(24, clients=True)
    long = behind_long_prompts(wayfarer.tokenizer, held_out(12, clients=True, seed=2))
    exams = examine(wayfarer.hf, wayfarer.tokenizer, short)
    assert sum(exam.verdict.good for exam in exams) >= 0.9 * len(exams)
    assert all(exam.generated.ended for exam in exams)
    exams = examine(wayfarer.hf, wayfarer.tokenizer, long)
    assert sum(exam.verdict.good for exam in exams) >= 0.75 * len(exams)


@pytest.mark.parametrize("prompt_scale", [1, 0.1])
def test_the_running_example_ends_by_itself_at_the_published_lengths(wayfarer, prompt_scale):
    requests = mb.workload.running_example(wayfarer, prompt_scale)
    assert [request.request_id for request in requests] == list("ABCDEFGH")
    assert not any(request.ignore_eos for request in requests)
    completions = mb.Engine(wayfarer, mb.Continuous(8)).run(requests)
    lengths = [mb.workload.prompt_length(name, prompt_scale) for name in "ABCDEFGH"]
    assert [len(c.prompt_token_ids) for c in completions] == lengths
    assert [len(c.token_ids) for c in completions] == list(mb.workload.OUTPUT_LENGTHS)
    assert {c.finish_reason for c in completions} == {"stop"}


def test_the_fifty_agents_do_not_all_say_the_same():
    examples = json.loads(RUNNING_EXAMPLE.read_text(encoding="utf-8"))
    for letters in examples.values():
        for conversations_of_a_letter in letters.values():
            queries = [conversation["query"] for conversation in conversations_of_a_letter]
            assert len(queries) == len(set(queries)) == 7
