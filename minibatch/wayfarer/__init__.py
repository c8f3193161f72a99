"""Wayfarer, the small language model that the course ships: a travel agents' copilot.

    world.py       24 cities and their facts (the file names the fictional ones), in cities.toml
    clients.py     travellers: passport, diet, hotel limit, past trips, notes
    policy.py      the agency's manual, and prompts of an exact number of tokens
    questions.py   the questions that may be asked
    phrasings.py   how agents type them
    sentences.py   the sentences of the answers
    checking.py    whether an answer is true
    mentions.py    the facts that an answer mentions
    train.py       `python -m minibatch.wayfarer.train`
    evaluate.py    `python -m minibatch.wayfarer.evaluate`
    weights/       the model, in Hugging Face format
    junior/        a smaller model, which drafts its tokens
    training/      the code of training and evaluation

Importing this package imports none of them.
"""

from pathlib import Path

WEIGHTS = Path(__file__).parent / "weights"  # Hugging Face format: give it to `from_pretrained`
JUNIOR = Path(__file__).parent / "junior"  # the same, of Wayfarer Junior
RUNNING_EXAMPLE = Path(__file__).parent / "running_example.json"  # prompts of exact lengths
