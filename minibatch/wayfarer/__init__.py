"""Wayfarer, the small language model that the course ships: a travel agents' copilot.

    world      24 cities and their facts (fiction where it says so), in `cities.toml`
    clients    travellers: passport, diet, hotel limit, past trips, notes
    policy     the agency's manual, and prompts of an exact number of tokens
    corpus     questions with their true answers, and `checking` what a model answered
    tokenizer  byte-level BPE with 2,048 entries and a chat template
    train      python -m minibatch.wayfarer.train
    evaluate   python -m minibatch.wayfarer.evaluate

Importing this package imports none of them.
"""

from pathlib import Path

WEIGHTS = Path(__file__).parent / "weights"  # Hugging Face format: give it to `from_pretrained`
RUNNING_EXAMPLE = Path(__file__).parent / "running_example.json"  # prompts of exact lengths
