"""Exercises of lesson 13: more than one engine.

Change none of your arguments: the caller still uses them. Keep nothing between calls.

Save this file, then press Check on its card in the lesson, or run `python -m minibatch grade 13.1`.
"""

from collections.abc import Sequence

from minibatch.routers import Incoming, ReplicaView


# ---------------------------------------------------------------------------------------------
# Exercise 13.1: Uncached tokens on each replica
# 3 points, 15 minutes, difficulty 2 of 5
# lessons/13_more_than_one_engine.ipynb, "Your turn: uncached tokens on each replica"
#
# For each replica, a router must know how many tokens of a prompt the replica would have to
# compute. Your function gets
#
#     num_tokens  tokens of the prompt, 1 or more
#     chain       hashes of the num_tokens // block_size full
#                 blocks of the prompt, in order; may be empty. A
#                 hash depends on its block and on all blocks
#                 before it
#     cached      a dictionary: for each replica's number, a list
#                 of the hashes that are cached there, in any
#                 order. It may be empty, and it may contain
#                 hashes of other prompts
#     block_size  tokens in a block, 1 or more
#
# Return a dictionary: for each replica's number, the number of tokens of this prompt that are not
# cached there.
#
# A replica uses the longest cached beginning of the prompt and computes the rest. So a cached block
# saves work only if all blocks before it are cached too. A replica that has evicted the second
# block must compute everything from this block on, even if the third block is still cached.
#
# Only full blocks are cached, so the tokens after the last full block are always computed. The last
# token of the prompt is always computed too, because its output is the first token of the answer.
# If the last token is in a full block, this whole block is computed, even if the block is cached,
# because an engine takes only whole blocks from its cache. So no number in the dictionary is 0.
#
# HINT For each replica, go through the chain from its beginning, and stop at the first block that
#      is not cached there.
# HINT The first (num_tokens - 1) // block_size blocks can come from the cache. The last token,
#      number num_tokens - 1 counted from 0, is in none of these blocks.
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
# Exercise 13.2: A router
# 5 points, 25 minutes, difficulty 3 of 5
# lessons/13_more_than_one_engine.ipynb, "Your turn: a router"
#
# Write a router. For each request, it chooses the replica that computes this request. There are
# several replicas of one engine. Each request belongs to a group, and all requests of a group begin
# with the same long manual. Each replica has its own prefix cache, which is too small for all
# manuals. You get
#
#     request  an Incoming: num_tokens of its prompt,
#              prefix_hashes, session
#     views    a list: a ReplicaView of each replica that you may
#              choose, one or more, in any order. Its fields are
#              replica (its number, not always 0, 1, 2),
#              num_running, num_waiting, max_running,
#              num_uncached_tokens, kv_use, num_sent,
#              num_sent_tokens, cached, block_size
#
# Return view.replica of the view that you choose. minibatch/routers/view.py explains each field.
# view.cached_tokens(request) is the number of tokens at the beginning of the prompt that are cached
# at that replica. view.uncached_tokens(request) is the number of tokens of the prompt that must be
# computed there. A replica computes one prompt at a time, first come, first served. So the wait at
# a replica depends on uncached tokens, not on the number of requests.
#
# A view is a report that is up to half a second old. num_uncached_tokens is the work that the
# replica had at the time of the report: prompt tokens that were not cached and not yet computed.
# This number does not include the requests that your router has sent to this replica since the
# report. These are num_sent requests, with num_sent_tokens uncached tokens.
#
# First, single choices are judged: between replicas that differ in one number, your router must
# choose the best one. It must not choose a replica where many times the tokens of the manual wait,
# even if the manual is cached there.
#
# Then your router serves four hidden streams of 700 requests on six replicas. The groups have very
# different sizes, and one group becomes popular for a while. The measure is the mean TTFT over all
# requests. Your mean must be at most 0.5 times the mean of
# mb.routers.LeastRequests(count_sent=True), and at most 0.75 times the mean of
# mb.routers.PrefixAffinity().
#
# HINT How long is the wait for the first token at each replica? The replica must first compute all
#      tokens that wait there, and then this prompt. Choose the replica with the smallest sum.
# HINT The sum has three numbers: the tokens that waited at the time of the report, the tokens that
#      were sent since the report, and the tokens of this prompt that must be computed there. All
#      three have the same unit, so you need no weights.
# HINT def cost(view):
#          return view.num_uncached_tokens + view.num_sent_tokens + ...
#      return min(views, key=cost).replica
# ---------------------------------------------------------------------------------------------
def choose(request: Incoming, views: Sequence[ReplicaView]) -> int:
    """The number of the replica that gets this request.

    Example: with two idle replicas, ReplicaView(4) and ReplicaView(7, cached={b"x"}), the request
    Incoming(100, (b"x",)) goes to replica 7, where 84 of its 100 tokens must be computed (a block
    has 16 tokens).
    """

    # BEGIN SOLUTION
    def cost(view: ReplicaView) -> tuple[int, int]:
        before = view.num_uncached_tokens + view.num_sent_tokens
        return before + view.uncached_tokens(request), view.num_requests + view.num_sent

    return min(views, key=cost).replica
    # END SOLUTION


# ---------------------------------------------------------------------------------------------
# Exercise 13.3: Split or not
# 4 points, 20 minutes, difficulty 2 of 5
# lessons/13_more_than_one_engine.ipynb, "Your turn: split or not"
#
# A request can be served in two ways. Together: one replica computes the prompt and the answer,
# beside other requests. Apart: a prefill replica computes the prompt and the first token. Then K
# and V of the prompt are sent to a decode replica, which computes the rest of the answer. Predict
# TTFT and TPOT of both ways, and decide which way is better. You get four dictionaries. All times
# are in seconds:
#
#     request: what the client asks for
#       "prompt", "answer"      numbers of tokens, 1 or more
#     together: the replica that computes both
#       "queue"                 prompt tokens that already wait there
#       "tokens_per_s"          prompt tokens that it computes in a second
#       "itl_s"                 ITL of a step without a prefill
#       "itl_beside_prefill_s"  ITL of a step with a prefill
#       "prefill_share"         the share of steps with a prefill, 0 to 1
#     apart: the two replicas
#       "queue", "tokens_per_s" of the prefill replica, as above
#       "itl_s"                 ITL of the decode replica
#       "kv_bytes_per_token"    bytes of K and V of one token
#       "gbit_per_s"            bandwidth, in 10^9 bits a second
#       "latency_s"             added to each transfer, 0 or more
#       "first_token_from"      "prefill" or "decode": the replica that
#                               sends the first token to the client
#     slo: the limits
#       "ttft_s", "tpot_s"      above 0
#
# In both ways, the prefill takes (queue + prompt) / tokens_per_s. The transfer takes the bytes of K
# and V of the whole prompt divided by the bandwidth, plus the latency.
#
# Together: TTFT is the time of the prefill. TPOT is the mean over the steps: (1 - prefill_share) *
# itl_s + prefill_share * itl_beside_prefill_s.
#
# Apart, first token from "prefill" (as in DistServe): TTFT is the time of the prefill. The transfer
# comes between the first two tokens, so TPOT is itl_s + transfer / (answer - 1).
#
# Apart, first token from "decode" (as in SGLang): TTFT is the time of the prefill plus the
# transfer. TPOT is itl_s.
#
# For an answer of one token, TPOT is None in both ways. With "prefill", such an answer needs no
# transfer. With "decode", it does.
#
# The decision: a way uses a share of each limit, TTFT / ttft_s and TPOT / tpot_s (only the first
# if TPOT is None). The larger of the two counts. Split if it is smaller for apart than for
# together.
#
# Always raise ValueError if the bandwidth is 0 or less.
#
# HINT Compute the transfer first. 8 bits are a byte: prompt * kv_bytes_per_token * 8 bits, divided
#      by gbit_per_s * 10**9 bits in a second, plus the latency. If "decode" sends the first token,
#      add the transfer to TTFT, and no transfer is left for TPOT.
# HINT Write one small function for the share of the SLO that a way uses, and call it for both ways.
#      Then the decision is one comparison, with <. Handle an answer of one token before you divide
#      by answer - 1.
# HINT def used(ttft, tpot):
#          return max(ttft / slo["ttft_s"], 0 if tpot is None else tpot / slo["tpot_s"])
#      return {"split": used(*apart_times) < used(*together_times), ...}
# ---------------------------------------------------------------------------------------------
def split_or_not(request: dict, together: dict, apart: dict, slo: dict) -> dict:
    """{"split": True or False, "together": (TTFT, TPOT), "apart": (TTFT, TPOT)}.

    Example: a prompt of 1000 tokens and an answer of 101. Together: {"queue": 3000, "tokens_per_s":
    8000, "itl_s": 0.02, "itl_beside_prefill_s": 0.1, "prefill_share": 0.5}. Apart: {"queue": 0,
    "tokens_per_s": 8000, "itl_s": 0.02, "kv_bytes_per_token": 125000, "gbit_per_s": 10,
    "latency_s": 0.4, "first_token_from": "prefill"}. With the SLO {"ttft_s": 1, "tpot_s": 0.05} the
    answer is {"split": True, "together": (0.5, 0.06), "apart": (0.125, 0.025)}. The transfer takes
    0.5 s. With "first_token_from": "decode", apart is (0.625, 0.02).
    """
    # BEGIN SOLUTION
    if apart["gbit_per_s"] <= 0:
        raise ValueError(f"a bandwidth is above 0; this one is {apart['gbit_per_s']} Gbit/s")
    prompt, num_gaps = request["prompt"], request["answer"] - 1
    num_bits = 8 * prompt * apart["kv_bytes_per_token"]
    transfer = num_bits / (apart["gbit_per_s"] * 10**9) + apart["latency_s"]
    ttft, ttft_apart = ((way["queue"] + prompt) / way["tokens_per_s"] for way in (together, apart))
    tpot = tpot_apart = None
    if apart["first_token_from"] == "decode":  # the transfer is before the first token
        ttft_apart += transfer
        transfer = 0.0
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
# 5 points, 45 minutes, difficulty 4 of 5
# lessons/13_more_than_one_engine.ipynb, "Your turn: an autoscaler that does not flap"
#
# An autoscaler decides how many replicas a fleet has. Your function is called every 30 seconds, and
# gets
#
#     now           seconds since the day began
#     ready         replicas that serve requests, 0 or more
#     starting      replicas that were ordered and do not serve yet. A
#                   start takes a minute or more, and 2 minutes on the
#                   hidden days
#     ongoing       a list: the number of waiting and running requests at
#                   each of the latest 20 calls. The newest number is at
#                   the end of the list. The first calls of a day have a
#                   shorter list, with 1 number or more
#     last_change   the time of the latest call that changed the number of
#                   replicas; None if there was none
#     min_replicas, max_replicas
#                   the bounds: 1 <= min_replicas <= max_replicas
#     target        requests that one replica should have on average,
#                   1 or more
#
# Return the number of replicas that you want in total, ready and starting together: a whole number
# from min_replicas to max_replicas. If you return ready + starting, nothing changes. A higher
# number orders new replicas. A lower number cancels replicas that are starting, and then stops
# replicas that are ready. A replica costs money from the moment when it is ordered. It runs 12
# requests at the same time, for 20 seconds each. Further requests wait. The target here is 8, so
# that a replica has some reserve.
#
# Traffic is noisy: `ongoing` changes by 10 or 20 % from one call to the next, although the mean
# traffic has not changed. An autoscaler that follows each value flaps: it stops a replica and
# orders a new replica a minute later, and requests wait until the new replica serves.
#
# The reference cost is the cost of an ideal autoscaler. It knows in advance the mean traffic at
# each moment of the day, and then has ceil(mean number of requests / target) replicas. Attainment
# is the share of requests that wait for 2 seconds or less. A change is a call that changes the
# number of replicas.
#
# First, single calls are judged. If every value of `ongoing` is exactly target * (ready +
# starting), your answer must not differ from ready + starting by more than one.
#
# Then three short tests have one event each:
#
#     three hours of constant traffic with noise:
#         attainment at least 98 %, at most 15 changes
#     90 minutes; a crowd doubles the traffic within 3 minutes:
#         attainment at least 94 %
#     150 minutes; three quarters of the traffic end within 3 minutes:
#         cost at most 1.4 times the reference cost
#
# Finally, there are two hidden days. Each hidden day has a quiet night, a busy day, and a crowd
# that comes within a few minutes and stays for 40 minutes:
#
#     attainment   at least 98 %
#     cost         at most 1.2 times the reference cost
#     changes      at most 120, in 2,880 calls
#
# HINT Up and down are two different decisions. With too few replicas, requests wait immediately,
#      and a new replica needs minutes: go up quickly. Too many replicas only cost money: go down
#      only when you are sure.
# HINT One high value can be noise; two consecutive high values are more than noise. Before you go
#      down, look at all values of the last ten minutes: even the highest value must need fewer
#      replicas than there are.
# HINT have = ready + starting
#      up = the replicas that the lower one of the two newest values needs
#      down = the replicas that the highest value of all 20 needs
#      Return up if up is more than have, down if down is less than have, and otherwise have.
#      Before you return, apply the bounds.
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
