"""Which sequences take part in the next forward pass, and with how many tokens each."""

import math
from dataclasses import dataclass, field
from typing import Literal

from .request import Sequence

Kind = Literal["prefill", "decode", "padding", "wasted"]  # wasted: only in records


@dataclass
class Row:
    """One sequence's share of one forward pass.

    num_tokens: tokens to compute, from `sequence.num_launched_tokens` on: from the counter of
        computed tokens, unless a step is in flight. start: that number when the row was made; the
        counter itself moves on in `update`.
    num_padding_tokens: tokens computed only to make rows equal. Each repeats the row's last token
        over the row's own context; its K and V go to a scratch block.
    draft: draft tokens after the sequence's end, verified in the same pass. Only a row that reaches
        the end may have them; `minibatch/speculation/` adds them, policies do not.
    num_draft_blocks: blocks added to the table for the draft alone.

        token_ids   [ . . . . . . . . . . . ] draft
                      computed ^ num_tokens ^  or the last one again, num_padding_tokens times
    """

    sequence: Sequence
    num_tokens: int
    num_padding_tokens: int = 0
    draft: list[int] | tuple[()] = ()
    num_draft_blocks: int = 0
    start: int = field(init=False)

    def __post_init__(self) -> None:
        self.start = self.sequence.num_launched_tokens

    @property
    def seq_len(self) -> int:
        """Tokens in the cache after this pass: what the row's last token attends to. Draft tokens
        do not count."""
        return self.start + self.num_tokens

    @property
    def num_written(self) -> int:
        """Tokens whose K and V this row stores, draft tokens included."""
        return self.num_tokens + len(self.draft)

    @property
    def kind(self) -> Kind:
        """What the row computes. Recomputing after a preemption is prefill again."""
        if self.num_tokens == 0:
            return "padding"
        decoding = self.num_tokens == 1 and self.start >= self.sequence.num_prompt_tokens
        return "decode" if decoding else "prefill"

    @property
    def reaches_end(self) -> bool:
        """Whether this row computes the newest token, so that the model generates the next one. The
        newest token may still be in flight; the row is then longer than what is known."""
        return self.num_tokens > 0 and self.seq_len >= self.sequence.num_tokens

    def verified(self, own: list[int]) -> list[int]:
        """The new tokens of a row that reaches the end: the accepted draft tokens, and one more.

        own: the model's choice after the newest token, and after each draft token. A draft token is
        accepted if it equals the model's choice and so do all before it. The model's choice after
        the last accepted one is new, too; later ones follow a rejected token and are dropped.
        """
        if not self.draft:
            return own
        agreed = 0
        while agreed < len(self.draft) and self.draft[agreed] == own[agreed]:
            agreed += 1
        return own[: agreed + 1]


@dataclass
class StepPlan:
    """The rows of one step. A plan without rows means "not yet": `wake_at` is when the engine calls
    `plan` again (engine clock, seconds); None means when the next request arrives.

    num_left: tokens of the policy's budget that no row has yet; infinite without a budget.
    preempted: sequences that were preempted while this plan was made.
    """

    rows: list[Row] = field(default_factory=list)
    wake_at: float | None = None
    num_left: float = math.inf
    preempted: list[Sequence] = field(default_factory=list)

    def add(self, sequence: Sequence, num_tokens: int) -> None:
        """Give a sequence a row, and take its tokens from the budget."""
        self.rows.append(Row(sequence, num_tokens))
        self.num_left -= num_tokens

    def remove(self, sequence: Sequence) -> None:
        """A sequence was preempted. Its row, if it has one, goes back to the budget."""
        self.preempted.append(sequence)
        self.num_left += sum(row.num_tokens for row in self.rows if row.sequence is sequence)
        self.rows = [row for row in self.rows if row.sequence is not sequence]

    def check(self, block_size: int) -> None:
        """Refuse a plan that would be computed wrongly. Raises ValueError naming the request.

        The shipped policies never fail this check; an unfinished policy may.
        """
        seen = set()
        for row in self.rows:
            sequence, name = row.sequence, row.sequence.request_id
            if id(sequence) in seen:
                raise ValueError(
                    f"request {name!r} has two rows in one plan; give the request one row"
                )
            seen.add(id(sequence))
            if row.num_tokens < 0 or row.num_padding_tokens < 0 or row.seq_len < 1:
                raise ValueError(
                    f"request {name!r}: a row of {row.num_tokens} tokens and "
                    f"{row.num_padding_tokens} padding tokens; give 0 or more of both, and at "
                    "least 1 token if the request has no computed tokens"
                )
            if row.num_tokens + row.num_padding_tokens == 0:
                raise ValueError(
                    f"request {name!r} has an empty row; leave this row out of the plan"
                )
            if row.start != sequence.num_launched_tokens:
                raise ValueError(
                    f"request {name!r}: this row is from an earlier step; make a new row"
                )
            if row.num_tokens and sequence.is_finished:
                raise ValueError(
                    f"request {name!r} has finished; plan no more tokens for this request"
                )
            if row.num_tokens > sequence.num_uncomputed_tokens:
                raise ValueError(
                    f"request {name!r}: {row.num_tokens} tokens planned, only "
                    f"{sequence.num_uncomputed_tokens} are left to compute"
                )
            if row.draft and not row.reaches_end:
                raise ValueError(
                    f"request {name!r}: this row of {row.num_tokens} tokens ends before the last "
                    "token of the sequence, so it cannot have draft tokens"
                )
            missing = sequence.num_new_blocks(row.num_written, block_size)
            if missing:
                raise ValueError(
                    f"request {name!r}: its block table is too short for "
                    f"{row.start + row.num_written} tokens (KV blocks of {block_size}: "
                    f"{len(sequence.block_table)} there, {missing} missing); take blocks from the "
                    "pool in plan()"
                )
