"""The texts of the model cards; their figures come from `training_run.py`, `evaluation.py` and
`acceptance.py`."""

from collections.abc import Mapping

_CARD = """\
---
language: en
license: {license}
library_name: transformers
pipeline_tag: text-generation
---

# Wayfarer

A Llama of {parameters:,} parameters that answers travel agents' questions: the model that comes
with the minibatch course. It is small enough to train on a laptop, and real: its answers end by
themselves, and their length follows from the question. A visa question takes about 20 tokens, a
hotel comparison 60 to 90, a plan for two weeks about 200.

    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained("minibatch/wayfarer/weights")
    model = AutoModelForCausalLM.from_pretrained("minibatch/wayfarer/weights")
    messages = [{{"role": "user", "content": "Plan 5 days in Lisbon."}}]
    prompt = tokenizer.apply_chat_template(
        messages, add_generation_prompt=True, return_tensors="pt"
    )
    output = model.generate(**prompt, max_new_tokens=256)
    print(tokenizer.decode(output[0], skip_special_tokens=True))

## What it knows, and what it does not

It knows 24 cities, and nothing else. **Their hotels, restaurants, airlines, prices and visa rules
are fiction**, written for this course; only cities, sights and dishes are real. Do not plan a
holiday with it. Clients and their files are invented. About other cities, or in other words than
an agent would type, it will say something fluent and wrong.

Behind a client's file it uses the client's first name, keeps hotels within the limit for one night,
and keeps to the diet.

## Architecture

6 layers, hidden size 256, 8 query heads and 4 KV heads of size 32, intermediate size 704, tied
embeddings, RoPE with base 10,000, context of 2,048 tokens, bfloat16. The tokenizer is a byte-level
BPE with 2,048 entries, in which each digit is a token. A conversation reads

    <|system|>…<|end|><|user|>…<|end|><|assistant|>…<|end|>

## Training

From random weights, on text that `minibatch/wayfarer/training/corpus.py` writes:
{tokens:,} tokens in {step:,} steps, Muon for the hidden matrices and AdamW for the rest,
{precision}. It took
{training_min:.0f} minutes on {device} ({cpu_min:.0f} minutes of processor time over all cores),
with torch {torch}. `python -m minibatch.wayfarer.train` repeats it.

About 5 % of all combinations of question, city, client and phrasing were held out.

## Evaluation

`python -m minibatch.wayfarer.evaluate` prints this.

{figures}
"""


_JUNIOR = """\
---
language: en
license: mit
library_name: transformers
pipeline_tag: text-generation
---

# Wayfarer Junior

A Llama of {parameters:,} parameters that proposes draft tokens for Wayfarer: the draft model of
lesson 10 of the minibatch course, on speculative decoding. It has Wayfarer's tokenizer, and it has
seen Wayfarer's cities; alone it answers worse.

    import minibatch as mb

    wayfarer, junior = mb.load_model("wayfarer"), mb.load_model("wayfarer-junior")
    engine = mb.Engine(wayfarer, mb.Continuous(), speculation=mb.DraftModel(junior, num_guesses=4))

## Architecture

2 layers, hidden size 128, 4 query heads and 1 KV head of size 32, intermediate size 512, tied
embeddings, RoPE with base 10,000, context of 2,048 tokens, bfloat16. Two layers, because a small
model's step costs layers and overhead rather than parameters: two took 0.21 to 0.26 of the time of
one of Wayfarer's steps, three 0.24 to 0.35, by context and batch (one thread, CPU time).

## Training

From random weights, on Wayfarer's own corpus, Muon for the hidden matrices and AdamW for the rest:
{tokens:,} tokens in {step:,} steps, {precision}. For the last {taught:.0%} of the tokens the labels
are not the corpus's but Wayfarer's own probabilities. It took {cpu_min:.0f} minutes of processor
time, with torch {torch}. `python -m minibatch.wayfarer.train --size junior` trains one like it; the
run that made this one was shortened as it went, so its learning rate fell earlier. About 5 % of all
combinations of question, city, client and phrasing were held out.

## Evaluation

Acceptance: the share of verified draft tokens that equal Wayfarer's own choice. (Tokens after a
rejected one are not verified.) `python -m minibatch.wayfarer.training.acceptance` prints
this.

{figures}
"""


def junior_card(
    training: Mapping[str, int | float | str], figures: str = "Not yet evaluated."
) -> str:
    """The card of Wayfarer Junior in Markdown; arguments as for `model_card`."""
    return _JUNIOR.format(**training, cpu_min=float(training["cpu_s"]) / 60, figures=figures)


def model_card(
    training: Mapping[str, int | float | str], figures: str = "Not yet evaluated."
) -> str:
    """The card in Markdown; `training` is the content of `training.json`, times in seconds."""
    return _CARD.format(
        **training,
        license="mit",
        training_min=float(training["training_s"]) / 60,
        cpu_min=float(training["cpu_s"]) / 60,
        figures=figures,
    )
