"""A load client counts from the time a request was due: a stall is in the latency of everyone who
waited for it, and no request is left out."""

import asyncio
import math

import pytest
from virtual_loop import run

import minibatch as mb
from minibatch.bench.answers import Piece, RequestFailed
from minibatch.bench.load_client import drive, offered
from minibatch.bench.load_report import LoadReport, Row


async def answer(seconds, num_tokens=2):
    for _ in range(num_tokens):
        await asyncio.sleep(seconds / num_tokens)
        yield Piece("a")


class OneAtATime:
    """A server with one worker. The first request takes `stall` seconds, the others 0.1 s."""

    def __init__(self, stall):
        self.stall, self.lock, self.num_seen = stall, asyncio.Lock(), 0

    async def send(self, request):
        async with self.lock:
            self.num_seen += 1
            async for token in answer(self.stall if self.num_seen == 1 else 0.1):
                yield token


def load(send, due, **options):
    return run(offered(due, list(range(len(due))), send, **options))


def test_a_stall_is_in_the_latency_of_all_who_were_due_meanwhile():
    due = [0.5 * i for i in range(10)]
    report = load(OneAtATime(3.0).send, due, max_concurrency=1)
    assert [row.finish - row.due for row in report.rows][:4] == pytest.approx([3, 2.6, 2.2, 1.8])
    assert report.e2e(50) > 0.9
    assert report.e2e(50, since="sent") == pytest.approx(0.1)


def test_without_a_limit_every_request_is_sent_when_it_is_due():
    report = load(OneAtATime(3.0).send, [0.0, 0.5, 1.0])
    assert [row.sent for row in report.rows] == pytest.approx([0, 0.5, 1])
    for percent in (50, 99, 100):
        assert report.ttft(percent) == pytest.approx(report.ttft(percent, since="sent"))


def test_due_times_need_no_order_and_rows_keep_that_of_the_requests():
    report = load(lambda i: answer(0.1, i + 1), [2.0, 0.0, 1.0])
    assert [row.due for row in report.rows] == [2, 0, 1]
    assert [row.sent for row in report.rows] == pytest.approx([2, 0, 1])
    assert [row.num_tokens for row in report.rows] == [1, 2, 3]


def test_send_may_be_a_coroutine_that_returns_the_iterator():
    async def send(request):
        await asyncio.sleep(0.2)  # connect
        return answer(0.2)

    (row,) = load(send, [0.0]).rows
    assert (row.first_token, row.finish) == pytest.approx((0.3, 0.4))


def test_failed_and_cancelled_requests_are_rows_and_infinitely_late():
    async def send(request):
        yield Piece("a")
        if request == 1:
            raise ConnectionError("reset by peer")
        if request == 2:
            await asyncio.sleep(60)
        if request == 3:
            raise asyncio.CancelledError

    async def nothing(request):
        return
        yield

    report = load(send, [0.0] * 5, timeout_s=2.0)
    outcomes = [row.outcome for row in report.rows]
    assert outcomes == ["served", "failed", "cancelled", "cancelled", "served"]
    assert "reset by peer" in report.rows[1].error
    assert report.rows[2].error == "no complete answer within 2 s"
    assert report.e2e(99) == report.ttft(99) == math.inf
    assert "5 requests: 2 served, 1 failed, 2 cancelled" in str(report)
    assert load(nothing, [0.0]).rows[0].outcome == "failed"


def test_tokens_are_counted_not_pieces():
    async def send(request):
        await asyncio.sleep(1)
        yield Piece("three words here", num_tokens=3)
        await asyncio.sleep(1)
        yield Piece("", num_tokens=4)  # a token without text

    (row,) = load(send, [0.0]).rows
    assert row.token_times == [1, 1, 1, 2]
    assert (row.num_tokens, row.first_token, row.finish) == (4, 1, 2)


def test_an_error_in_send_ends_the_run():
    async def send(request):
        yield Piece("a")
        raise AttributeError("no attribute 'txet'")

    with pytest.raises(AttributeError, match="txet"):
        load(send, [0.0, 50.0])


def test_a_request_that_the_server_fails_keeps_its_tokens():
    async def send(request):
        yield Piece("a")
        raise RequestFailed("HTTP 500: no memory")

    (row,) = load(send, [0.0]).rows
    assert (row.outcome, row.error, row.num_tokens) == ("failed", "HTTP 500: no memory", 1)


def test_a_request_that_is_cut_off_is_closed_before_the_next_is_sent():
    seen = []

    async def send(request):
        seen.append(f"sent {request}")
        try:
            while True:
                await asyncio.sleep(1)
                yield Piece("a")
        finally:
            seen.append(f"closed {request}")

    load(send, [0.0, 0.0], max_concurrency=1, timeout_s=2.5)
    assert seen[:2] == ["sent 0", "closed 0"]


def test_requests_of_one_time_are_sent_in_the_order_given():
    seen = []

    async def send(request):
        seen.append(request)
        yield Piece("a")

    load(send, [1.0] * 20, max_concurrency=1)
    assert seen == list(range(20))


def test_a_client_that_comes_late_to_a_request_says_so():
    async def send(request):
        if request == 0:
            asyncio.get_running_loop().now += (
                0.5  # half a second of computing, in which nothing runs
            )
        yield Piece("a")

    rows = load(send, [0.0, 0.1]).rows
    assert [row.ready for row in rows] == pytest.approx([0, 0.5])


def test_an_error_in_the_engine_is_no_failed_request():
    served = engine()
    served.add = lambda request: request.no_such_thing
    with pytest.raises(AttributeError, match="no_such_thing"):
        drive(served, requests([0.0]))


def test_the_time_limit_counts_from_due_and_also_while_a_request_waits_to_be_sent():
    report = load(OneAtATime(10.0).send, [0.0, 1.0], max_concurrency=1, timeout_s=4.0)
    assert [row.outcome for row in report.rows] == ["cancelled", "served"]
    report = load(OneAtATime(10.0).send, [0.0, 1.0, 1.0], max_concurrency=2, timeout_s=2.0)
    waited = load(lambda i: answer(10), [0.0, 0.0], max_concurrency=1, timeout_s=2.0).rows[1]
    assert waited.outcome == "cancelled"


def test_cancelling_the_client_cancels_its_requests():
    seen = []

    async def send(request):
        try:
            await asyncio.sleep(60)
            yield Piece("a")
        finally:
            seen.append(request)

    async def main():
        client = asyncio.ensure_future(offered([0.0, 0.0], [0, 1], send))
        await asyncio.sleep(1)
        client.cancel()
        await asyncio.gather(client, return_exceptions=True)

    run(main())
    assert sorted(seen) == [0, 1]


def test_a_percentile_is_the_value_of_a_request():
    rows = [Row(i, 0.0, 0.0, i + 1.0, i + 1.0, 1, "served") for i in range(100)]
    report = LoadReport(rows)
    assert [report.ttft(p) for p in (1, 50, 99, 100)] == [1, 50, 99, 100]


# An engine in this process ------------------------------------------------------------------------


def requests(due, prompt=1, answers=10):
    return [mb.Request([0] * prompt, max_tokens=answers, arrival_time=time) for time in due]


def engine(policy=None, **options):
    clock = mb.VirtualClock(0.1)
    policy = policy or mb.Continuous(8)
    return mb.Engine(mb.PretendModel(), policy, num_blocks=500, clock=clock, **options)


def test_an_engine_behind_a_client_that_waits_looks_quick_from_sent():
    due = [0.1 * i for i in range(40)]
    report = drive(engine(), requests(due), max_concurrency=2)
    assert report.e2e(99, since="sent") == pytest.approx(1.0, abs=0.11)
    assert report.e2e(99) == pytest.approx(
        20 - 3.8
    )  # pairs of 1 s, the last two due at 3.8 and 3.9
    assert report.columns()["e2e p99"] == (report.e2e(99, since="sent"), report.e2e(99))


def test_a_client_without_a_limit_sees_what_the_engine_records():
    due = [0.0, 0.03, 0.4, 5.0]
    ours = engine()
    report = drive(ours, requests(due))
    theirs = ours.run(requests(due))
    assert [row.sent for row in report.rows] == due
    assert [r.first_token - r.due for r in report.rows] == pytest.approx([c.ttft for c in theirs])


def test_a_request_after_a_pause_is_sent_when_it_is_due():
    report = drive(engine(), requests([1.0, 50.0, 100.0]), max_concurrency=1)
    assert [row.sent for row in report.rows] == pytest.approx([1, 50, 100])
    assert [row.first_token for row in report.rows] == pytest.approx([1.1, 50.1, 100.1])


@pytest.mark.parametrize("limit", [1, 2, 3, 7])
def test_never_more_requests_are_in_the_engine_than_the_limit(limit):
    served = engine()
    most = []
    served.on_step(lambda record: most.append(len(record.row_values) + record.num_waiting))
    report = drive(served, requests([0.05 * i for i in range(20)]), max_concurrency=limit)
    assert max(most) == limit
    assert report.count("served") == 20
    assert all(row.sent >= row.due for row in report.rows)


def test_a_request_that_the_engine_refuses_or_aborts_is_a_row():
    served = engine()
    some = requests([0.0, 0.0, 0.1])
    some[1] = mb.Request([0] * 20_000, max_tokens=1)
    served.on_step(lambda record: record.index == 3 and served.abort("request-2"))
    report = drive(served, some)
    assert [row.outcome for row in report.rows] == ["served", "failed", "cancelled"]
    assert "20,000" in report.rows[1].error
    assert report.e2e(100) == math.inf


def test_a_full_queue_is_a_failure_not_an_omission():
    policy = mb.Continuous(1)
    policy.limits = mb.QueueLimits(max_waiting=2)
    report = drive(engine(policy), requests([0.0] * 6))
    assert report.count("failed") == 4
    assert report.count("served") == 2


def test_a_limit_below_one_is_refused():
    with pytest.raises(ValueError, match="max_concurrency is 0; it must be 1 or more"):
        drive(engine(), requests([0.0]), max_concurrency=0)
