"""Speculative decoding: draft tokens are proposed cheaply and verified in an ordinary forward pass.

    proposer.py        what every proposer has; one made of a function of yours
    prompt_lookup.py   proposes what followed the same tokens before
    draft_model.py     proposes what a smaller model would generate
    drafting.py        where draft tokens are asked for, and enter a plan

A draft token is accepted if the engine would have generated it anyway, greedy or sampled. So
speculation changes when a token comes, and never which one.
"""

from .draft_model import DraftModel
from .prompt_lookup import PromptLookup
from .proposer import Function, Proposer

__all__ = ["DraftModel", "Function", "PromptLookup", "Proposer"]
