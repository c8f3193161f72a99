"""A learner's classes and coroutine functions in the worker: all that they call, the judge sees."""

from minibatch.course.judging.values import pack, unpack


def test_bytes_survive_the_way_to_the_worker():
    assert unpack(pack([b"\x00\xff", "a"])) == [b"\x00\xff", "a"]


def test_objects_keep_their_state_apart_and_texts_come_exactly(worker):
    student = worker(
        """
        class Log:
            def __init__(self):
                self.lines = []

            def add(self, lines):
                self.lines += lines
                return ["\\r\\n".join(self.lines)]
        """
    )
    calls = [(0, "add", [["a"]]), (1, "add", [["b"]]), (0, "add", [["c"]])]
    gave = [student.unpacked(one["gave"]) for one in student.objects("Log", calls)]
    assert gave == [[b"a"], [b"b"], [b"a\r\nc"]]


def test_a_list_is_emptied_after_its_call(worker):
    student = worker(
        """
        class Keeper(list):
            def keep(self, items):
                self.append(items)
                return self[0]
        """
    )
    calls = [(0, "keep", [[1]]), (0, "keep", [[2]])]
    gave = [student.unpacked(one["gave"]) for one in student.objects("Keeper", calls)]
    assert gave == [[1], []]


class OneSleeper:
    """A scene of a coroutine that waits for `bell`, which rings at 5 ms."""

    def __init__(self):
        self.asked, self.outcomes, self.others = [], None, None

    def __call__(self, question):
        if question["asks"] == "call":
            self.asked.append((question["name"], unpack(question["args"])))
            return {"later": 1}
        self.outcomes, self.others = question["outcomes"], question["others"]
        if question["outcomes"] != [None]:
            return None
        timer = question["timer_ms"]
        results = [] if timer else [[1, {"now": "rung"}]]
        return {"time_ms": timer or 3_600_000, "results": results, "cancel": []}


def test_a_coroutine_waits_without_a_clock(worker):
    student = worker(
        """
        import asyncio

        async def work(bell):
            left = asyncio.ensure_future(asyncio.Event().wait())
            await asyncio.sleep(60)
            assert await bell("at", 7) == "rung"
            assert asyncio.get_running_loop().time() == 3600
        """
    )
    scene = OneSleeper()
    student.run_async("work", scene, [[{"given": {"name": "bell", "kind": "coroutine"}}]])
    assert scene.asked == [("bell", ["at", 7])]
    assert scene.outcomes == [{"returned": True}]
    assert scene.others == 1
