"""Promise room for the longest answer that a request allows."""

from ...core.request import Sequence
from .room import Admission


class ReserveMaximum(Admission):
    """No request is ever preempted, and few run. (TensorRT-LLM's default: GUARANTEED_NO_EVICT)"""

    def num_tokens(self, sequence: Sequence) -> int:
        return max(sequence.max_num_tokens, sequence.num_tokens)
