"""Wayfarer, the small language model that the course ships: a travel agents' copilot.

    world.py       24 cities and their facts (fiction where it says so), in cities.toml
    clients.py     travellers: passport, diet, hotel limit, past trips, notes
    policy.py      the agency's manual, and prompts of an exact number of tokens
    questions.py   what may be asked (phrasings.py), and how an answer is worded (sentences.py)
    checking.py    whether an answer is true, from what it mentions (mentions.py)
    weights/       the model, in Hugging Face format
    junior/        a smaller one, which guesses what it will say next
    training/      what made it: `python -m minibatch.wayfarer.train`, and `….evaluate`

Importing this package imports none of them.
"""

from pathlib import Path

WEIGHTS = Path(__file__).parent / "weights"  # Hugging Face format: give it to `from_pretrained`
JUNIOR = Path(__file__).parent / "junior"  # the same, of Wayfarer Junior
RUNNING_EXAMPLE = Path(__file__).parent / "running_example.json"  # prompts of exact lengths
