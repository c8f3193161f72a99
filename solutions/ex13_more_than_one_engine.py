"""Exercises of lesson 13: more than one engine.

Change none of your arguments: they belong to the caller, who goes on using them. Keep nothing from
one call to the next.

Save this file, then press Check on its card in the lesson, or run `python -m minibatch grade 13.1`.
"""

from collections.abc import Sequence

from minibatch.routers import Incoming, ReplicaView


# ---------------------------------------------------------------------------------------------
# Exercise 13.1: A router
# 5 points, 25 minutes, difficulty 3 of 5
# lessons/13_more_than_one_engine.ipynb, "Your turn: a router"
#
# Write a router: for each request, choose the replica that computes it. Several replicas of one
# engine serve requests that come in groups. The requests of a group begin with the same long
# manual. Each replica has a prefix cache of its own, which is too small for all the manuals. You
# get
#
#     request  an Incoming: num_tokens of its prompt,
#              prefix_hashes, session
#     views    a ReplicaView of each replica that you may choose,
#              one or more, in any order: replica (its number, not
#              always 0, 1, 2), num_running, num_waiting,
#              max_running, num_uncached_tokens, kv_use, num_sent,
#              num_sent_tokens, cached, block_size
#
# and return the number of a replica, view.replica. minibatch/routers/view.py explains each name.
# view.cached_tokens(request) is how many tokens at the beginning of the prompt are cached there;
# view.uncached_tokens(request) is how many must be computed there. A replica computes one prompt at
# a time, first come, first served: time goes by uncached tokens, not by requests.
#
# A view is a report, up to half a second old. num_uncached_tokens was the work there when it
# reported: tokens of prompts that were not cached and not computed yet. What was sent there since,
# by your earlier choices, is not in it: num_sent requests, with num_sent_tokens uncached tokens.
#
# Your router is judged first on single choices. If only one of these differs between the replicas,
# the best one must be chosen: the cached part of this prompt; num_uncached_tokens;
# num_sent_tokens. And a replica that has the manual is not chosen if the uncached tokens that
# wait there are many times the manual.
#
# Then it serves four hidden streams of 700 requests on six replicas. The groups are of very
# different sizes, and one of them becomes popular for a while. The measure is the mean TTFT over
# all requests. It has to be at most 0.5 times that of mb.routers.LeastRequests(count_sent=True),
# and at most 0.75 times that of mb.routers.PrefixAffinity().
#
# HINT How long until the first token, on each replica? It has to compute everything that waits
#      there, and then this prompt. Take the replica where the sum is smallest.
# HINT Three numbers are in the sum, all in tokens: what waited there at the report, what was sent
#      there since, and what this prompt needs there. A cached prefix and a short queue then have
#      the same unit, and nothing must be weighted.
# HINT def cost(view):
#          return view.num_uncached_tokens + view.num_sent_tokens + ...
#      return min(views, key=cost).replica
# ---------------------------------------------------------------------------------------------
def choose(request: Incoming, views: Sequence[ReplicaView]) -> int:
    """The number of the replica that gets this request.

    Example: with two idle replicas, ReplicaView(4) and ReplicaView(7, cached={b"x"}), the request
    Incoming(100, (b"x",)) goes to replica 7, where 84 of its 100 tokens must be computed.
    """

    # BEGIN SOLUTION
    def cost(view: ReplicaView) -> tuple[int, int]:
        before = view.num_uncached_tokens + view.num_sent_tokens
        return before + view.uncached_tokens(request), view.num_requests + view.num_sent

    return min(views, key=cost).replica
    # END SOLUTION


# ---------------------------------------------------------------------------------------------
# Exercise 13.2: Uncached tokens on each replica
# 3 points, 15 minutes, difficulty 2 of 5
# lessons/13_more_than_one_engine.ipynb, "Your turn: uncached tokens on each replica"
#
# A router has to know how many tokens of a prompt each replica would have to compute. It knows
#
#     num_tokens  of the prompt, 1 or more
#     chain       hashes of its num_tokens // block_size full
#                 blocks, the first block first; may be empty. Each
#                 depends on its block and on all blocks before it
#     cached      by the number of a replica: a list of the hashes
#                 that it has cached, in any order, also of other
#                 prompts; may be empty
#     block_size  tokens in a block, 1 or more
#
# Return a dictionary with the number of uncached tokens of this prompt for each replica.
#
# A replica needs to compute the rest of the prompt after its longest cached beginning. So only
# blocks count that are cached together with all blocks before them: a replica that has evicted the
# second block has to compute everything from there on, also a third block that is still cached.
#
# Only full blocks are cached: the tokens after the last full block are always computed. The last
# token of the prompt is always computed, too, since its output is the first token of the answer. If
# it is in a full block, then that whole block is computed, cached or not: an engine takes whole
# blocks from its cache. So the answer is never 0.
#
# HINT For each replica, go through the chain from its beginning, and stop at the first block that
#      is not cached there.
# HINT Which blocks may come from the cache at all? The last token, number num_tokens - 1 counted
#      from 0, must not be in one of them: the first (num_tokens - 1) // block_size.
# HINT usable = chain[: (num_tokens - 1) // block_size]
#      for replica, hashes in cached.items():
#          num_found = 0
#          while num_found < len(usable) and usable[num_found] in hashes: ...
# ---------------------------------------------------------------------------------------------
def uncached_tokens(
    num_tokens: int, chain: list[bytes], cached: dict[int, list[bytes]], block_size: int
) -> dict[int, int]:
    """Tokens of this prompt that each replica would have to compute, by the replica's number.

    Example: uncached_tokens(10, [b"a", b"b"], {0: [b"b", b"a"], 1: [b"a"], 2: [b"b"]}, 4) is
    {0: 2, 1: 6, 2: 10}.
    """
    # BEGIN SOLUTION
    usable = chain[: (num_tokens - 1) // block_size]
    found = {}
    for replica, hashes in cached.items():
        here, num_found = set(hashes), 0
        while num_found < len(usable) and usable[num_found] in here:
            num_found += 1
        found[replica] = num_tokens - num_found * block_size
    return found
    # END SOLUTION


# ---------------------------------------------------------------------------------------------
# Exercise 13.3: Split or not
# 4 points, 20 minutes, difficulty 2 of 5
# lessons/13_more_than_one_engine.ipynb, "Your turn: split or not"
#
# A request can be served in two ways. Together: one replica computes its prompt and its answer,
# beside other requests. Apart: one replica computes the prompt and the first token; then K and V
# of the prompt are sent to another replica, which computes the rest of the answer. Predict both
# ways, and decide. You get four dictionaries; all times are seconds:
#
#     request: the request
#       "prompt", "answer"      tokens of each, 1 or more
#     together: the replica that does both
#       "queue"                 prompt tokens that wait there already
#       "tokens_per_s"          prompt tokens that it computes a second
#       "itl_s"                 ITL in a step without a prefill
#       "itl_beside_prefill_s"  ITL in a step with a prefill
#       "prefill_share"         the share of steps with one, 0 to 1
#     apart: the two replicas
#       "queue", "tokens_per_s" as above, of the prefill replica
#       "itl_s"                 of the decode replica
#       "kv_bytes_per_token"    bytes of K and V of one token
#       "gbit_per_s"            bandwidth, 10^9 bits a second
#       "latency_s"             of a transfer besides, 0 or more
#     slo: the limits
#       "ttft_s", "tpot_s"      above 0
#
# TTFT, both ways: (queue + prompt) / tokens_per_s. The first token does not wait for the transfer.
# TPOT together: the mean over the steps, (1 - prefill_share) * itl_s + prefill_share *
# itl_beside_prefill_s.
# TPOT apart: the transfer lies between the first token and the second, and nothing overlaps it. It
# takes the bytes of the whole prompt divided by the bandwidth, plus the latency, once. TPOT is the
# time from the first token to the last, divided by the answer - 1 gaps: itl_s + transfer /
# (answer - 1).
# An answer of one token has no TPOT, None, in both ways. Then nothing is transferred.
#
# The decision: of each way, how much of the SLO does it use? That is the larger one of TTFT /
# ttft_s and TPOT / tpot_s (without a TPOT, the first). Split if it is smaller apart. If both are
# equal, do not split. So a way that meets the SLO always wins over a way that misses it.
#
# A bandwidth of 0 or below is a mistake of the caller, whatever the answer: raise ValueError.
#
# HINT Write down the transfer first. 8 bits are a byte: prompt * kv_bytes_per_token * 8 bits, over
#      gbit_per_s * 10**9 bits in a second, and the latency once.
# HINT One small function for the share of the SLO that a way uses, for both ways: then the decision
#      is one comparison, with <. Look at the answer of one token before you divide by answer - 1.
# HINT def used(ttft, tpot):
#          return max(ttft / slo["ttft_s"], 0 if tpot is None else tpot / slo["tpot_s"])
#      return {"split": used(*apart_times) < used(*together_times), ...}
# ---------------------------------------------------------------------------------------------
def split_or_not(request: dict, together: dict, apart: dict, slo: dict) -> dict:
    """{"split": True or False, "together": (TTFT, TPOT), "apart": (TTFT, TPOT)}.

    Example: a prompt of 1000 tokens and an answer of 101. Together: {"queue": 3000, "tokens_per_s":
    8000, "itl_s": 0.02, "itl_beside_prefill_s": 0.1, "prefill_share": 0.5}. Apart: {"queue": 0,
    "tokens_per_s": 8000, "itl_s": 0.02, "kv_bytes_per_token": 125000, "gbit_per_s": 10,
    "latency_s": 0.4}. With the SLO {"ttft_s": 1, "tpot_s": 0.05} it is {"split": True, "together":
    (0.5, 0.06), "apart": (0.125, 0.025)}: the transfer takes 0.5 s.
    """
    # BEGIN SOLUTION
    if apart["gbit_per_s"] <= 0:
        raise ValueError(f"a bandwidth is above 0; this one is {apart['gbit_per_s']} Gbit/s")
    prompt, num_gaps = request["prompt"], request["answer"] - 1
    num_bits = 8 * prompt * apart["kv_bytes_per_token"]
    transfer = num_bits / (apart["gbit_per_s"] * 10**9) + apart["latency_s"]
    ttft, ttft_apart = ((way["queue"] + prompt) / way["tokens_per_s"] for way in (together, apart))
    tpot = tpot_apart = None
    if num_gaps:
        share = together["prefill_share"]
        tpot = (1 - share) * together["itl_s"] + share * together["itl_beside_prefill_s"]
        tpot_apart = apart["itl_s"] + transfer / num_gaps

    def used(ttft: float, tpot: float | None) -> float:
        return max(ttft / slo["ttft_s"], 0.0 if tpot is None else tpot / slo["tpot_s"])

    return {
        "split": used(ttft_apart, tpot_apart) < used(ttft, tpot),
        "together": (ttft, tpot),
        "apart": (ttft_apart, tpot_apart),
    }
    # END SOLUTION


# ---------------------------------------------------------------------------------------------
# Exercise 13.4: An autoscaler that does not flap
# 5 points, 25 minutes, difficulty 4 of 5
# lessons/13_more_than_one_engine.ipynb, "Your turn: an autoscaler that does not flap"
#
# How many replicas shall there be? Every 30 seconds you are asked, and you get
#
#     now             seconds since the day began
#     ready           replicas that serve, 0 or more
#     starting        replicas that were ordered and do not serve yet. A new replica takes a minute
#                     or more to start, 2 minutes on the hidden days
#     ongoing         a list: how many requests were in the system, waiting or running, at each of
#                     the last 20 calls, the newest last. At the beginning it has fewer, at least 1
#     last_change     the time of the last call that changed the number; None before the first
#     min_replicas, max_replicas
#                     the bounds of the answer, 1 <= min_replicas <= max_replicas
#     target          requests that one replica shall have on average, 1 or more
#
# Return how many replicas you want in total, those that serve and those that start: a whole number
# from min_replicas to max_replicas. A higher number than ready + starting orders new ones; a lower
# one cancels those that start, and then ends some that serve; ready + starting changes nothing.
# Replicas cost money from when they are ordered. A replica runs 12 requests at the same time, 20
# seconds each; more than that wait. Here target is 8: the rest is reserve.
#
# Traffic is noisy: `ongoing` goes up and down by a tenth or a fifth from one call to the next,
# though nothing has changed. An autoscaler that follows each value flaps: it ends a replica and
# orders it again a minute later, and in the minutes until that one serves, requests wait.
#
# Each of two hidden days has a quiet night, a busy day, and a crowd for 40 minutes that comes
# within a few minutes. On each
#
#     attainment   at least 98 % of the requests wait for 2 seconds or less
#     cost         at most 1.2 times the replica-hours of an autoscaler that knows the mean traffic
#                  of the whole day, and always has the mean number of requests / target replicas,
#                  rounded up
#     changes      at most 120 of the 2,880 calls change the number
#
# Before that, three shorter times have one event each. For three hours the traffic stays the same
# but for the noise: at most 15 changes, and an attainment of 98 %. A crowd comes within three
# minutes, twice the traffic before: an attainment of 94 % over an hour and a half. Three quarters
# leave within three minutes: over two and a half hours, at most 1.4 times the reference cost.
# Single calls are judged, too: if all of `ongoing` is just target times ready + starting, nothing
# has to change, and your answer may be one away from it.
#
# HINT Up and down are two different decisions. Too few replicas cost waiting at once, and a new one
#      needs minutes: go up quickly. Too many cost a little money: go down when you are sure.
# HINT One high value is noise; two that follow each other are more. For going down, look at all of
#      the last ten minutes: even its highest value needs fewer replicas than there are.
# HINT have = ready + starting
#      up = the replicas that the lower one of the last two values needs
#      down = the replicas that the highest value of all 20 needs
#      Go to up if it is more than have; to down if it is less; otherwise stay at have. Last, the
#      bounds.
# ---------------------------------------------------------------------------------------------
def desired(
    now: int,
    ready: int,
    starting: int,
    ongoing: list[int],
    last_change: int | None,
    min_replicas: int,
    max_replicas: int,
    target: int,
) -> int:
    """The number of replicas in total from now on.

    Example: at the target for ten minutes, desired(36000, 8, 2, [80] * 20, None, 1, 40, 8) is 10.
    """
    # BEGIN SOLUTION
    wanted = ready + starting
    up = -(-min(ongoing[-2:]) // target)
    down = -(-max(ongoing) // target)
    if up > wanted:
        wanted = up
    elif down < wanted and len(ongoing) == 20:
        wanted = down
    return max(min_replicas, min(max_replicas, wanted))
    # END SOLUTION
