"""What a learner's code can do now that it has passed: measured in its worker, as a sentence.

A grader's file names them by task, NOW_YOURS.
"""

import random
from itertools import takewhile

from serving import Ask, serve, some_requests

import minibatch as mb
from minibatch.simulator.workload import OUTPUT_LENGTHS, PROMPT_LENGTHS

WAYFARER = {"num_layers": 6, "num_query_heads": 8, "num_kv_heads": 4, "head_dim": 32}
KV_SHAPES = ((4, 32),) * 6


def kv_bytes(student):
    per_token = student.call("kv_bytes_per_token", **WAYFARER, bytes_per_number=4)
    tokens = PROMPT_LENGTHS[-1] + OUTPUT_LENGTHS[-1]
    return (
        f"By your count, agent H, with {tokens:,} tokens of prompt and answer, fills "
        f"{tokens * per_token / 1e6:.1f} MB of Wayfarer's cache."
    )


def step_bytes(student):
    one, many = (
        student.call(
            "decode_step_bytes",
            num_weights=10**9,
            bytes_per_number=2,
            kv_bytes_per_token=50_000,
            batch_size=rows,
            context=1000,
        )
        for rows in (1, 64)
    )
    return (
        "By your count, a model of a billion weights in bfloat16, with 1,000 tokens of context at "
        f"50 kB each, reads {one / 1e9:.2f} GB for one row and {many / 1e9:.2f} GB for 64: "
        f"{many / one:.1f} times the bytes for 64 times the tokens."
    )


def step_flops(student):
    one, many = (
        student.call(
            "decode_step_flops",
            num_weights=10**9,
            num_layers=16,
            num_query_heads=32,
            head_dim=64,
            batch_size=rows,
            context=1000,
        )
        for rows in (1, 64)
    )
    return (
        f"By your count, a model of a billion weights does {one / 1e9:.2f} billion operations for "
        f"one row and {many / 1e9:.0f} billion for 64: {many / one:.0f} times as many. Rows share "
        "bytes, but not operations."
    )


def greedy(student):
    from stand_in import StandIn  # here, since importing torch takes seconds
    from tiny_model import tiny_model

    prompt, num_tokens = [3, 9, 27, 81, 60, 40, 7], 24
    model = StandIn(tiny_model().hf, max_passes=2 * num_tokens)
    answer = student.call("greedy_decode", model, prompt, num_tokens, -1)
    fed = sum(len(one.token_ids) for one in model.passes)
    without = sum(len(prompt) + n for n in range(len(answer)))
    return (
        f"After a prompt of {len(prompt)} tokens your loop generated {len(answer)} tokens and gave "
        f"the model {fed} tokens as input; without a cache it would be {without}."
    )


def rectangle(student):
    _, mask, _ = student.call("pad_batch", [[5] * n for n in PROMPT_LENGTHS], 0)
    real, places = sum(map(sum, mask.values)), mask.shape[0] * mask.shape[1]
    return (
        f"Your rectangle for the eight agents has {mask.shape[0]} rows of {mask.shape[1]:,} "
        f"places: {places - real:,} of {places:,}, {1 - real / places:.1%}, are padding."
    )


def padding(student):
    eight = student.call("padding_share", list(OUTPUT_LENGTHS), 8)
    fifty = student.call("padding_share", [OUTPUT_LENGTHS[i % 8] for i in range(50)], 8)
    return (
        f"By your count, {eight:.1%} of the eight agents' slot-steps are padding, and {fifty:.1%} "
        "of the slot-steps of fifty agents."
    )


def coaches(student):
    """A minute, looked at every eighth of a second; somebody comes every 1 to 3 seconds."""
    arrivals, leaves, waiting = [n * 13 // 8 for n in range(36)], [], []
    for eighths in range(8 * 60):
        now = eighths / 8
        waiting += [float(time) for time in arrivals if time == now]
        if student.call("is_ready", list(waiting), now, 8, 3.0):
            leaves.append(len(waiting))
            waiting = []
    return (
        f"Called every eighth of a second for a minute in which {len(arrivals)} requests arrived, "
        f"with a window of 3 s, your rule started {len(leaves)} batches with {sum(leaves)} "
        "requests."
    )


def static(student):
    yours, ours = _served(student, "MyStatic", mb.Static, 50, max_batch_size=8)
    return (
        f"Your policy serves the fifty agents in {len(yours):,} steps, {_like(yours, ours, len)}."
    )


def dynamic(student):
    yours, ours = _served(
        student, "MyDynamic", mb.Dynamic, 24, every=12, max_batch_size=8, max_wait=60
    )
    return (
        "With steps of a second, a window of 60 s and an arrival every 12 s, your policy serves "
        f"24 agents in {_batches(yours)} batches, {_like(yours, ours, _batches)}."
    )


def continuous(student):
    borrowed = {"update": "Scheduler"}
    yours, ours = _served(student, "MyContinuous", mb.Continuous, 12, borrowed, max_batch_size=4)
    return f"Your policy serves 12 agents in {len(yours):,} steps, {_like(yours, ours, len)}."


def updating(scheduler):
    engine = serve(scheduler, some_requests(random.Random(0), 16))
    tokens = sum(len(completion.token_ids) for completion in engine.trace.completions)
    return (
        f"Your `update` appended {tokens} tokens to 16 requests, and released each request at its "
        f"end: {engine.pool.num_free} of {engine.pool.num_blocks} blocks are free again."
    )


def probe(student):
    read = student.unpacked(
        student.ask(
            "records",
            attribute="kv_bytes_read",
            requests=_agents(8, prompt_scale=1.0),
            options={
                "policy": "Continuous",
                "arguments": {"max_batch_size": 8},
                "num_blocks": 800,
                "block_size": 16,
                "kv_shapes": KV_SHAPES,
                "dtype": "float32",
            },
        )
    )
    return (
        f"By your probe Wayfarer's attention reads {max(read) / 1e6:.1f} MB of K and V in the "
        f"fullest step of the eight agents, and {read[-1] / 1e6:.1f} MB in the last step, when "
        "only H is left."
    )


def accepting(student):
    draft, own = [7, 7, 7, 2], [7, 7, 5, 2, 9]
    new, computed, back = student.call("accept", draft, own, 30, [4, 9, 1, 6, 3], 8)
    return (
        f"Of {len(draft)} draft tokens your function accepted {len(new) - 1}, and added one "
        f"token. {computed} tokens have K and V, and {len(back)} of 5 blocks (of 8 tokens each) "
        "went back to the pool."
    )


def worth(student):
    tokens = student.call("expected_tokens", 0.8, 4)
    return (
        f"By your formula, four draft tokens with an acceptance rate of 0.8 give {tokens:.2f} "
        f"tokens a step. If a draft token costs a tenth of a step, that is {tokens / 1.4:.2f} "
        "times as fast."
    )


def sampled(student):
    p, q, chance = [0.5, 0.3, 0.2], [0.1, 0.2, 0.7], random.Random(1)
    drawn = chance.choices(range(3), q, k=2000)
    cases = [[p, q, token, chance.random(), chance.random()] for token in drawn]
    came = student.calls("accept_or_draw", cases)
    kept = sum(a == b for a, b in zip(drawn, came, strict=True)) / len(came)
    shares = ", ".join(f"{came.count(token) / len(came):.0%}" for token in range(3))
    return (
        f"Of 2,000 draft tokens drawn from {q} your function accepts {kept:.0%}. The tokens that "
        f"come out have shares of {shares}; the model's probabilities are {p}."
    )


def guesser(student):
    from guessing import QUOTING_OFTEN, longest_match, tokens_a_step

    def earliest_match(token_ids, most):
        ends = [i for i, token in enumerate(token_ids[:-1]) if token == token_ids[-1]]

        def equal(end):
            pairs = zip(reversed(token_ids[: end + 1]), reversed(token_ids), strict=False)
            return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))

        found = max(ends, key=equal, default=None)  # the first of equals
        return [] if found is None else token_ids[found + 1 : found + 1 + most]

    found, latest, earliest = (
        tokens_a_step(propose, QUOTING_OFTEN)
        for propose in (
            lambda token_ids, most: list(student.call("propose", token_ids, most)),
            longest_match,
            earliest_match,
        )
    )
    return (
        f"On {len(QUOTING_OFTEN)} answers that quote their prompts, your draft tokens give "
        f"{found:.2f} tokens a step; without draft tokens it is 1. Of equally long matches, the "
        f"latest gives {latest:.2f} on these texts, and the earliest {earliest:.2f}."
    )


def _agents(n, prompt_scale=0.1, every=0):
    requests = mb.workload.agents(mb.PretendModel(), n, prompt_scale)
    return [[r.request_id, len(r.prompt), r.max_tokens, i * every] for i, r in enumerate(requests)]


def _served(student, name, ours, n, borrowed=(), every=0, **arguments):
    """Who joins, step by step: under the learner's policy, in an engine of its own; under ours."""
    asked, options = _agents(n, every=every), {"num_blocks": 1024, "block_size": 16}
    theirs = {"policy": name, "borrowed": dict(borrowed), "arguments": arguments, **options}
    yours = student.ask("records", attribute="admitted", requests=asked, options=theirs)
    clock = mb.VirtualClock(step_time=1)
    engine = mb.Engine(mb.PretendModel(), ours(**arguments), clock=clock, **options)
    engine.run(
        mb.Request([0] * prompt, max_tokens=answer, request_id=name, arrival_time=arrival)
        for name, prompt, answer, arrival in asked
    )
    return student.unpacked(yours), [step.admitted for step in engine.trace.steps]


def _batches(steps):
    return sum(map(bool, steps))


def _like(yours, ours, count):
    same = count(yours) == count(ours)
    return "as our policy does" if same else f"and our policy needs {count(ours):,}"


def slots(student):
    blocks = list(range(200))
    random.Random(0).shuffle(blocks)
    tables = [[blocks.pop() for _ in range(-(-tokens // 16))] for tokens in PROMPT_LENGTHS[:2]]
    got = student.call("slot_mapping", tables, [0, 0], list(PROMPT_LENGTHS[:2]), 16)
    jumps = sum(b != a + 1 for a, b in zip(got, got[1:], strict=False))
    return (
        f"By your mapping the {len(got):,} tokens of two prompts, A's and B's, lie in "
        f"{len(set(got)):,} slots of {sum(map(len, tables))} blocks; after {jumps} of these "
        "tokens, the next token is not in the next slot."
    )


def pool(student):
    requests = [[name, n // 10, m] for name, n, m, _ in _agents(8, prompt_scale=1.0)]
    got = student.unpacked(
        student.ask("run_engine", name="MyPool", num_blocks=200, block_size=4, requests=requests)
    )
    most = max(len({b for table in step.values() for b in table}) for step in got)
    shared = max(
        sum(map(len, step.values())) - len({b for table in step.values() for b in table})
        for step in got
    )
    left = sum(map(len, got[-1].values())) or "none"
    return (
        f"Your pool of 200 blocks has served eight agents and one more answer to A in {len(got)} "
        f"steps: at most {most} blocks were held at the same time, at most {shared} of them by two "
        f"requests, and {left} at the end."
    )


def copies(student):
    tokens = PROMPT_LENGTHS[-1]
    table = list(range(-(-tokens // 16)))
    holders = [2] * len(table) + [0]
    copied, _ = student.call("copy_on_write", table, holders, [len(table)], tokens - 1, 1, 16)
    return (
        f"By your rule, a second answer to H's prompt of {tokens:,} tokens shares {len(table)} "
        f"blocks with the first answer, and copies {len(copied)} of them."
    )


def how_many(student):
    requests = list(zip(PROMPT_LENGTHS, OUTPUT_LENGTHS, strict=True)) * 4
    fits = {
        allocator: student.call("how_many_fit", allocator, requests, 16 * 1024, 2048, 16)
        for allocator in ("maximum", "power of two", "told", "paged")
    }
    told = ", ".join(f"{count} with “{allocator}”" for allocator, count in fits.items())
    return (
        f"By your count, 16,384 tokens of memory hold this many agents (A to H, repeated): {told}."
    )


def names(student):
    manual, seen, blocks = list(range(670)), set(), 0
    for number, length in enumerate(PROMPT_LENGTHS):
        rest = [1000 * (number + 1) + i for i in range(length - len(manual))]
        chain = student.call("block_hashes", manual + rest, 16)
        seen.update(chain)
        blocks += len(chain)
    return (
        "Eight prompts are as long as the agents' prompts, and share their first 670 tokens. They "
        f"fill {blocks} blocks, and your function gives {len(seen)} different names."
    )


def matching(student):
    names = [f"block {i}" for i in range(1300 // 16)]
    known = {name: i for i, name in enumerate(names[:41])}
    found = student.call("cached_prefix", names, 1300, 16, known)
    return (
        "The cache holds a manual of 670 tokens. By your rule, H's prompt of 1,300 tokens finds "
        f"{len(found)} blocks of 16 tokens, and {1300 - 16 * len(found)} tokens are left to "
        "compute."
    )


def eviction(student):
    trunk = [(i, i, 0, 0, 50) for i in range(41)]
    tails = [(100 * t + i, 41 + i, 0, t, 10 * t) for t in range(1, 6) for i in range(20)]
    gone = student.call("evict", trunk + tails, 100)
    left = sum(one not in gone for one in range(41))
    return (
        f"Five agents share a manual of 41 blocks, and 100 blocks are needed: by your rule, {left} "
        "of the manual's 41 blocks stay."
    )


def again(student):
    prompt = ["A", list(range(PROMPT_LENGTHS[0])), None]
    packed = student.ask("lookups", rounds=[[prompt], [prompt]], num_blocks=64, block_size=16)
    _, num_found, reason, at = student.unpacked(packed)[-1]
    return (
        f"A's {PROMPT_LENGTHS[0]} tokens are sent to your engine a second time: {num_found} are "
        f"found, and token {at} is missed for the reason “{reason}”."
    )


def under_a_budget(student):
    from budgets import budgeted  # here: it imports much of the engine

    seven = [Ask(name, 5, 20) for name in "ABCDEFG"]
    engine = serve(budgeted(student, 8, 128), [*seven, Ask("L", 1300, 5, 2.0)], num_blocks=512)
    steps = [s for s in engine.trace.steps if any(row.request_id == "L" for row in s.rows)]
    chunks = [s for s in steps if s.rows and any(row.num_tokens > 1 for row in s.rows)]
    most = max(sum(row.num_tokens for row in step.rows) for step in chunks)
    return (
        f"Under your policy L's prompt of 1,300 tokens is computed in {len(chunks)} chunks beside "
        f"seven decodes; no step computes more than {most} tokens, and no decode is stalled."
    )


def with_a_cap(student):
    needs, steps = [1300, 1000, 80], 0
    while needs[-1]:
        shares = student.call("capped_shares", list(needs), 128, 16)
        needs, steps = [need - share for need, share in zip(needs, shares, strict=True)], steps + 1
    return (
        f"By your shares, S's 80 tokens behind two long prompts are computed after {steps} steps "
        "(budget 128, cap 16); without a cap it takes 19 steps."
    )


def by_hand(student):
    blocks = list(range(200))
    random.Random(0).shuffle(blocks)
    steps = student.call("chunks_and_slots", [1300], [0], [blocks[:82]], 7, 128, 16)
    slots = [slot for step in steps for *_, its in step for slot in its]
    return (
        f"By your function, L's 1,300 tokens take {len(steps)} steps beside seven decodes, in "
        f"chunks of {steps[0][0][2] - steps[0][0][1]} tokens and a last chunk of "
        f"{steps[-1][0][2] - steps[-1][0][1]}. They lie in {len(set(slots)):,} different slots."
    )


def victim(student):
    from scarcity import CROWDS, num_recomputed

    yours, newest = (
        num_recomputed(CROWDS, choose)
        for choose in (lambda c: student.call("whom_to_preempt", c), lambda c: -1)
    )
    return (
        f"By your choice, {yours:,} tokens are computed again for four groups of forty requests; "
        f"if the newest request is always preempted, {newest:,} are."
    )


def admission(student):
    from scarcity import POOLS, maximum_steps, serve_pools

    yours = sum(serve_pools(POOLS, lambda asked: student.calls("may_begin", [*map(list, asked)])))
    return (
        f"By your rule, every request of 1,000 pools is served, in {yours:,} steps; reserving the "
        f"maximum for every request takes {maximum_steps():,}."
    )


def refusing(student):
    from scarcity import LIMIT_MS, STREAM, num_in_time

    yours, nobody = (
        num_in_time(STREAM, LIMIT_MS, refuse)
        for refuse in (lambda *queue: student.call("whom_to_refuse", *queue), lambda *queue: ())
    )
    return (
        f"{len(STREAM)} requests arrive, 1.2 times what the machine can compute. By your rule "
        f"{yours} of them get a first token in time; without refusals it is {nobody}. "
        "Moore and Hodgson's rule (1968): if a request is late, refuse the longest up to there."
    )


def aging(student):
    from scarcity import SERVICE_MS, first_served, urgent

    waited = first_served(
        [(0, 0)],
        urgent(5, SERVICE_MS),
        lambda queue, now: student.call("who_is_next", queue, now, SERVICE_MS),
        10_000,
    )
    return (
        "A request of priority 5 arrives every 100 ms, and each 100 ms of waiting are worth one "
        f"point. By your rule, a request of priority 0 is served after {waited} ms; by priority "
        "alone, never."
    )


def load_test(student):
    from measuring import TWO_HUNDRED

    rows, *limits = TWO_HUNDRED
    served = [row for row in rows if row[2] == "served"]
    honest, flattered = (
        student.call("metrics", some, *limits)["attainment"] for some in (rows, served)
    )
    return (
        f"By your count {honest:.0%} of 200 requests meet their SLO. With refused and unfinished "
        f"requests left out of the denominator, the same test would say {flattered:.0%}."
    )


def load_generator(student):
    from measuring import STALL

    from minibatch.course.judging.given_function import GivenFunction

    test = STALL.fresh()
    given = [GivenFunction(function) for function in (test.now, test.send, test.wait)]
    found = student.call("run_load", list(test.due), test.end_ms, *given)
    late = sum(latency > 100 for latency in found)
    return (
        f"A server stalls for 890 ms: your generator reports that {late} of {len(found)} requests "
        "wait for longer than 100 ms. A generator that waits for each answer would report only one "
        "such request."
    )


def highest_rate(student):
    from measuring import System

    from minibatch.course.judging.given_function import GivenFunction

    system = System("now yours", 6.0)
    arguments = (system.low, system.high, system.target, system.most_runs)
    found = student.call("capacity", GivenFunction(system.attainment), *arguments)
    return (
        f"In a system that you have not seen, you find {found:.2f} requests per second after "
        f"{len(system.runs)} runs; the true capacity is {system.capacity:.2f}."
    )


def apart(student):
    from measuring import CLAIM

    first, last = student.call("first_and_last", dict(CLAIM))["memory"]
    return (
        f"The speed-up of all changes is {CLAIM[max(CLAIM, key=len)] / CLAIM[()]:.1f} times. The "
        f"change “memory” gives {first:.1f} times if it is switched on first, and {last:.1f} times "
        "if it is switched on last."
    )


def hang_up(student):
    from streaming import Line, Scene

    pieces = [(30 * (i + 1), f"piece {i + 1} ") for i in range(20)]
    line = Line(pieces, 630, hangs_up_ms=100)
    Scene([line]).run(student)
    return (
        "A client hangs up after 100 ms of an answer that takes 630 ms: your function has sent "
        f"{len(line.sent)} of {len(pieces)} pieces, and aborts at {line.aborts[0][0]} ms."
    )


def stream_reader(student):
    data = "".join(f'data: {{"text": "東京 {i}"}}\r\n\r\n' for i in range(40)).encode()
    calls = [(0, "feed", [data[i : i + 1]]) for i in range(len(data))]
    num = sum(len(student.unpacked(one["gave"])) for one in student.objects("Events", calls))
    return f"A stream of {len(data):,} bytes in chunks of one byte: your reader finds {num} events."


def releases(student):
    calls = []
    for step in range(1, 41):
        calls.append((0, "launched", [step, ["A" if step < 20 else "B", "C"]]))
        if step > 1:
            calls.append((0, "collected", [step - 1]))
        if step in (19, 20):
            calls.append((0, "ended", ["A" if step == 19 else "C", [step, step + 50]]))
    gave = [student.unpacked(one["gave"]) for one in student.objects("Releases", calls)]
    num = sum(len(blocks) for blocks in gave if blocks)
    return f"In 40 overlapped steps your object gives back {num} blocks of two requests that ended."


def time_parts(student):
    row = (
        {"due": 0, "sent": 4, "first_token": 364, "last_token": 1264},
        {
            "received": 9004,
            "scheduled": 9204,
            "first_computed": 9264,
            "first_written": 9348,
            "last_written": 10_248,
        },
    )
    parts = student.call("where_the_time_went", [row])["parts"][0]
    told = ", ".join(f"{name} {ms}" for name, ms in parts.items())
    return f"By your function, the 1,264 ms of one request consist of (ms): {told}."


def routed_crowd(student):
    from routed import Traffic, serve

    from minibatch.course.judging.remote_router import RemoteRouter
    from minibatch.routers import RoundRobin

    crowd = Traffic("now yours", num_requests=200)
    own, other = (
        serve(crowd.requests(), list(range(6)), router.choose)
        for router in (RemoteRouter(student), RoundRobin())
    )
    own, other = (sum(one.ttft for one in served) / len(served) for served in (own, other))
    return (
        f"In a stream that you have not seen, the mean TTFT is {own:.2f} s by your router, and "
        f"{other:.2f} s by round robin."
    )


def uncached_manual(student):
    chain = [bytes([i]) for i in range(250)]
    cached = {0: [], 1: chain[:200], 2: chain[1:]}
    found = student.call("uncached_tokens", 4010, chain, cached, 16)
    told = ", ".join(f"{tokens:,} on replica {replica}" for replica, tokens in found.items())
    return (
        "A prompt has 4,010 tokens, and replica 2 has evicted its first block. By your function, "
        f"the uncached tokens are {told}."
    )


def longest_to_split(student):
    from test_ex13_more_than_one_engine import case

    def predicted(gbit, side):
        network = {"gbit_per_s": gbit, "latency_s": 0.001, "first_token_from": side}
        one = student.call("split_or_not", *case(8000, 200, (), network))
        return f"{one['apart'][0]:.2f} s ({'split' if one['split'] else 'do not split'})"

    return (
        "A prompt has 8,000 tokens, and the decode replica sends the first token: by your "
        f"prediction, TTFT is {predicted(400, 'decode')} over 400 Gbit/s, and "
        f"{predicted(10, 'decode')} over 10 Gbit/s. If the prefill replica sends the first token, "
        f"TTFT is {predicted(10, 'prefill')}."
    )


def scaled_day(student):
    from scaled import Day, live

    day = Day("now yours", ((0, 2.0), (1, 2.0), (3, 8.0), (6, 2.0)), num_ready=5)
    served = live(day, lambda *arguments: student.call("desired", *arguments))
    return (
        f"In six hours with one peak, {served.attainment:.1%} of the requests wait for 2 seconds "
        f"or less, with {served.replica_hours:.0f} replica-hours and {served.num_changes} changes."
    )
