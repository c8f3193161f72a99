"""What each part of a policy is worth, and which requests it lost: one thing changed at a time.

    without   the policy, with one part replaced by that of FCFS; printed with the opposite sign
    alone     FCFS, with one part of the policy

The two differ where parts need each other. Only a `Budget` has parts; of any other policy only the
lost requests can be told.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from ..schedulers import Budget, Scheduler, admission, chunks, orders, victims
from .match import PolicyFactory
from .play_match import play
from .scoring import Mark, Score, score
from .traffic import Match

PARTS: dict[str, Callable[[], object]] = {  # of FCFS, newly made
    "order": orders.FirstCome,
    "admission": admission.PromptOnly,
    "budget": lambda: chunks.first_come_first_served,
    "victim": lambda: victims.newest,
    "limits": lambda: None,
}
ATTRIBUTE = {"budget": "chunks"}


@dataclass(frozen=True)
class Explanation:
    """whole: the policy's score. base: that of FCFS with a token budget. without, alone: by part,
    the difference to whole, and to base; NaN if the plan does not work without the part; empty if
    it has no parts. own_plan: it has a `plan` of its own, which both keep."""

    whole: Score
    base: Score
    without: dict[str, float]
    alone: dict[str, float]
    own_plan: bool

    def __str__(self) -> str:
        lines = [f"score {self.whole.total:.3f}; FCFS has {self.base.total:.3f}", ""]
        if self.without:
            lines.append("what each part adds to yours           to FCFS")
            for part in self.without:
                both = 0.0 - self.without[part], self.alone[part]
                cells = ("does not work" if math.isnan(each) else f"{each:+.3f}" for each in both)
                lines.append(f"{part:12}{next(cells):>16}{next(cells):>18}")
        else:
            lines.append("The policy is not a Budget, so it has no parts to change one by one.")
        if self.own_plan:
            lines.append("It has its own `plan`; no row of this table shows what that adds.")
        lines += ["", "requests that were not in time, the largest groups"]
        for (reason, kind, load), count in lost(self.whole).most_common(6):
            lines.append(f"{count:4}  {reason}, {kind}, load {load:g}")
        return "\n".join(lines)


def lost(result: Score) -> Counter[tuple[str, str, float]]:
    """Requests that were not in time, by reason, kind and load."""
    return Counter(
        (value.reason, value.kind, match.load)
        for match in result.matches
        for value in match.values
        if value.reason != "in time"
    )


def explain(
    policy_factory: PolicyFactory, matches: Iterable[Match], marks: Mapping[str, Mark]
) -> Explanation:
    """Play the matches with the policy, and with one part changed at a time. marks: the oracle's,
    by `Match.key`. Raises what the policy raises."""
    matches = list(matches)

    def total(factory: PolicyFactory) -> Score:
        return score([play(match, factory) for match in matches], marks)

    def changed(factory: PolicyFactory, than: Score) -> float:
        try:
            return total(factory).total - than.total
        except Exception:  # a plan of one's own may need the part that was replaced
            return math.nan

    example = policy_factory(matches[0].rules.max_batch_size, matches[0].rules.max_batch_tokens)
    whole, base = total(policy_factory), total(Budget)
    own_plan = type(example).plan is not Budget.plan
    if not isinstance(example, Budget):
        return Explanation(whole, base, {}, {}, own_plan)
    without, alone = {}, {}
    for part in PARTS:
        if _is_default(part, example):
            continue
        without[part] = changed(_changed(policy_factory, part), whole)
        alone[part] = changed(_kept(policy_factory, part), base)
    return Explanation(whole, base, without, alone, own_plan)


def _is_default(part: str, policy: Budget) -> bool:
    """Whether a policy has this part of FCFS, as far as can be seen."""
    mine, theirs = getattr(policy, ATTRIBUTE.get(part, part)), PARTS[part]()
    return mine is theirs or (type(mine) is type(theirs) and part in ("order", "admission"))


def _changed(factory: PolicyFactory, part: str) -> PolicyFactory:
    """The policy with this part of FCFS."""

    def make(size: int, tokens: int) -> Scheduler:
        policy = factory(size, tokens)
        setattr(policy, ATTRIBUTE.get(part, part), PARTS[part]())
        return policy

    return make


def _kept(factory: PolicyFactory, part: str) -> PolicyFactory:
    """FCFS with this part of the policy."""

    def make(size: int, tokens: int) -> Scheduler:
        name, base = ATTRIBUTE.get(part, part), Budget(size, tokens)
        setattr(base, name, getattr(factory(size, tokens), name))
        return base

    return make
