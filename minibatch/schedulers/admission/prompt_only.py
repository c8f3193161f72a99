"""Promise the tokens that are there, and none of the answer."""

from ...core.request import Sequence
from .room import Admission


class PromptOnly(Admission):
    """As many run as fit now; who is in the way later gives way. (TensorRT-LLM: MAX_UTILIZATION)"""

    def num_tokens(self, sequence: Sequence) -> int:
        return sequence.num_tokens
