"""What a client saw, in the form of an engine's trace: the course's pictures draw it.

A client sees no steps. Pictures that need only completions work: `waits`, `waits_by_arrival`,
`request_times`, and `seismograph`.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..core.completion import Completion
from ..core.request import Request
from ..engine.metrics import Summary, Totals, summary_of
from ..engine.trace import Trace
from ..simulator.traffic import TOKEN
from .load_report import Row


class ReplayTrace(Trace):
    """Completions without steps. Its summary has throughput and latencies; nothing of rows, slots
    and blocks, which a client does not see."""

    def __init__(self, completions: Iterable[Completion]) -> None:
        super().__init__()
        for completion in completions:
            self.complete(completion)

    def summary(self) -> Summary:
        """As `Trace.summary`, from the first due time to the last token."""
        done = self.completions
        totals = Totals(output_tokens=sum(len(c.token_ids) for c in done))
        summary = summary_of(totals, self._latencies, self.max_batch_size, self.num_blocks)
        duration = max(c.finish_time for c in done) - min(c.arrival_time for c in done)
        if duration > 0:  # a run without steps has none by itself
            summary["duration_s"] = duration
            summary["output_tokens_per_s"] = totals.output_tokens / duration
        return summary


def completion_of(row: Row, request: Request) -> Completion:
    """The client's view of one request.

    arrival_time: when it was due. first_scheduled_time: when it was sent; what the server did with
    it until the first token is not known. token_ids, prompt_token_ids: where the server or the
    request gives none, so many times TOKEN: their number is what counts. finish_reason: "stop" also
    for a tool call or a filter; "refused" for one that failed before its first token, "abort" for
    one that failed later or was cancelled.
    """
    answer = row.answer
    token_ids = (answer and answer.token_ids) or [TOKEN] * row.num_tokens
    if isinstance(request.prompt, str):
        num_prompt_tokens = (answer and answer.num_prompt_tokens) or 0
        prompt_token_ids = [TOKEN] * num_prompt_tokens
    else:
        prompt_token_ids = list(request.prompt)
    if row.outcome == "served":
        reason = "length" if answer and answer.finish_reason == "length" else "stop"
    else:
        reason = "refused" if row.outcome == "failed" and not row.num_tokens else "abort"
    return Completion(
        request_id=request.request_id,
        prompt_token_ids=prompt_token_ids,
        token_ids=token_ids,
        text=answer.text if answer else "",
        finish_reason=reason,
        arrival_time=row.due,
        first_scheduled_time=row.sent,
        first_token_time=row.first_token,
        finish_time=next(t for t in (row.finish, row.sent, row.due) if t is not None),
        token_times=row.token_times,
        client=request.client,
    )
