"""Promise everyone the longest answer they may give."""

from ...core.request import Sequence
from .room import Admission


class ReserveMaximum(Admission):
    """Nobody ever gives way, and few run. (TensorRT-LLM: GUARANTEED_NO_EVICT, its default)"""

    def num_tokens(self, sequence: Sequence) -> int:
        return max(sequence.max_num_tokens, sequence.num_tokens)
