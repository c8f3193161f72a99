"""Tokens guessed ahead, and checked in the forward pass that would have computed one.

    proposer.py        what every guesser has; one made of a function of yours
    prompt_lookup.py   guesses what followed the same words before
    draft_model.py     guesses what a smaller model would say
    guesswork.py       where a step's guesses come in, and what they have taken goes back

A guess is kept if it is what the engine would have said anyway, greedy or drawn. So guesses change
when a token comes, and never which one.
"""

from .draft_model import DraftModel
from .prompt_lookup import PromptLookup
from .proposer import Function, Proposer

__all__ = ["DraftModel", "Function", "PromptLookup", "Proposer"]
