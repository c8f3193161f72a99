"""Promise room for the tokens that a request has, and for none of its answer."""

from ...core.request import Sequence
from .room import Admission


class PromptOnly(Admission):
    """As many requests run as fit now; later some are preempted. (TensorRT-LLM: MAX_UTILIZATION)"""

    def num_tokens(self, sequence: Sequence) -> int:
        return sequence.num_tokens
