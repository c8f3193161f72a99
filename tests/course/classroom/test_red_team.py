"""A class of ninety: twenty-three honest students, and others who would have points without work.

Every honest row is exact, no hostile one is above what its answers earn, and afterwards the machine
is as it was. `python -m minibatch test --slow`.
"""

# ruff: noqa: E501 (one attack a line)

import io
import json
import os
import subprocess
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path

import psutil
import pytest

from minibatch.course.classroom import grade_class
from minibatch.course.exercises import source
from minibatch.course.judging import sandbox
from minibatch.course.judging.judge import Options
from minibatch.course.setup import ROOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(bool(sandbox.missing()), reason="this computer has no sandbox"),
]

FILE, POLICY = "ex03_dynamic_batching.py", "ex04_continuous_batching.py"
SOLVED, SOLVED_POLICY = (
    (ROOT / "solutions" / name).read_text(encoding="utf-8") for name in (FILE, POLICY)
)
PATCH = (ROOT / "solutions" / source.PATCH).read_text(encoding="utf-8")
STUB, STUB_POLICY = source.stub(SOLVED), source.stub(SOLVED_POLICY)
MARK = Path(tempfile.gettempdir()) / "minibatch-red-team"
TASKS = [source.select(name)[0] for name in ("3.1", "4.2", "4.3")]


def body(code, before=""):
    """A file whose is_ready does this."""
    lines = "".join(f"    {line}\n" for line in code.splitlines())
    head = "def is_ready(arrival_times, now, max_batch_size, max_wait):\n"
    return f"{STUB}\nimport os, sys, time\n{before}\n\n{head}{lines}"


RIGHT = "return bool(arrival_times) and (len(arrival_times) >= max_batch_size or "
RIGHT += "arrival_times[0] + max_wait <= now)"
HALF = "return len(arrival_times) >= max_batch_size"
ESCAPE = f"open({str(MARK)!r}, 'w').write('out')"
C = "ctypes.CDLL(None, use_errno=True)"

# What is_ready does instead of its work, or besides; and the points of 3.1 that it may have at most.
IS_READY = {
    "endless": ("while True: pass", 0),
    "endless and deaf": (
        "import signal\nsignal.pthread_sigmask(0, range(1, 65))\nwhile True: pass", 0),
    "asleep": ("time.sleep(10**6)", 0),
    "deadlocked": ("import threading\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()", 0),
    "forks": ("while True: os.fork()", 0),
    "daemon": ("if os.fork() == 0:\n    os.setsid()\n    " + ESCAPE, 0),
    "runs a shell": (f"os.system('touch {MARK}')", 0),
    "spawns": ("import multiprocessing as m\nm.Process(target=print).start()", 0),
    "threads": ("import threading\nwhile True: threading.Thread(target=time.sleep, args=[99]).start()", 0),
    "twelve spin": (
        "import threading\nfor _ in range(12): threading.Thread(target=spin, daemon=True).start()\n"
        + RIGHT, 2),
    "exits": ("os._exit(0)", 0),
    "exits politely": ("sys.exit(0)", 0),
    "crashes": ("import ctypes\nctypes.string_at(0)", 0),
    "aborts": ("os.abort()", 0),
    "recurses": ("return is_ready(arrival_times, now, max_batch_size, max_wait)", 0),
    "kills its judge": ("os.kill(os.getppid(), 9)", 0),
    "kills everybody": ("os.kill(-1, 9)", 0),
    "starves its judge": ("import resource\nresource.prlimit(os.getppid(), resource.RLIMIT_CPU, (0, 0))", 0),
    "ties its judge": ("os.sched_setaffinity(os.getppid(), {0})", 0),
    "slows its judge": ("os.setpriority(0, os.getppid(), 19)", 0),
    "outlives": (f"import ctypes\nassert {C}.prctl(1, 0, 0, 0, 0) == 0\n" + RIGHT, 0),
    "takes memory": ("return bytearray(2**36)", 0),
    "takes memory slowly": ("x = []\nwhile True: x.append(bytearray(2**20))", 0),
    "hides memory": ("fd = os.memfd_create('x')\nwhile True: os.write(fd, bytes(2**20))", 0),
    "shares memory": (f"import ctypes\nassert {C}.shmget(0, 2**34, 0o1600) >= 0\n" + RIGHT, 0),
    "holds the disk": (
        "import mmap\nkept = []\nwhile True:\n    with open('x', 'wb+') as file:\n"
        "        try: os.posix_fallocate(file.fileno(), 0, 2**24)\n"
        "        except PermissionError: file.write(bytes(2**24))\n"
        "        kept.append(mmap.mmap(file.fileno(), 4096))\n        os.remove('x')", 0),
    "hides its folder": (
        "os.makedirs('x', 0o300, exist_ok=True)\nopen('x/y', 'wb').write(bytes(2**20))\n" + RIGHT, 2),
    "shortens the course": (
        f"os.open({str(ROOT / 'minibatch' / '__init__.py')!r}, os.O_RDONLY | os.O_TRUNC)", 0),
    "makes the kernel kill its judge": (
        "import fcntl\nr, w = os.pipe()\n"
        "for end in (r, w):\n"
        "    for step in ((fcntl.F_SETOWN, os.getppid()), (fcntl.F_SETSIG, 9),"
        " (fcntl.F_SETFL, os.O_ASYNC)):\n"
        "        try: fcntl.fcntl(end, *step)\n        except OSError: pass\n"
        "os.write(w, b'x')\nos.read(r, 1)\n" + RIGHT, 2),
    "twenty thousand threads": (
        "import threading\nthreading.stack_size(2**15)\nfor _ in range(20_000):\n"
        "    threading.Thread(target=time.sleep, args=[99], daemon=True).start()\n" + RIGHT, 0),
    "keeps pipes": (
        "import fcntl\nkeep = []\nwhile True:\n    r, w = os.pipe()\n"
        "    fcntl.fcntl(w, 1031, 2**20)\n    os.write(w, bytes(2**20))\n    keep.append(r)", 0),
    "prints for ever": ("while True: print('x' * 10**6)", 0),
    "one long line": ("while True: sys.stdout.write('x' * 10**6)", 0),
    "prints bytes": ("sys.stdout.buffer.write(bytes(range(256)) * 9)\n" + RIGHT, 2),
    "wipes the terminal": ("print('\\x1b[2J\\x1b[H3.1: \\u2713 passed')\n" + HALF, 1),
    "turns lines round": ("raise ValueError('\\u202edessap')", 0),
    "half a character": ("raise ValueError('\\ud800')", 0),
    "half a character printed": ("print('\\ud800')\n" + RIGHT, 2),
    "silent error": ("class E(Exception):\n    def __str__(self): raise self\nraise E", 0),
    "named with a line feed": ("raise type('A\\nB\\x1b[2J', (Exception,), {})('x')", 0),
    "repr for ever": (
        "class R:\n    def __repr__(self):\n        while True: pass\nreturn R()", 0),
    "markup": ("raise ValueError('<script>alert(1)</script>')", 0),
    "formula": ("raise ValueError('=HYPERLINK(\"http://x\")')", 0),
    "forged answers": (
        "for n in range(3, 9):\n    try: os.write(n, b'{\"value\": true}\\n' * 99)\n"
        "    except OSError: pass", 1),
    "unread questions": ("while True: os.write(3, b'{\"ask\": {\"model\": 0}}\\n' * 99)", 0),
    "questions of no kind": (
        "for q in (b'1', b'null', b'[]', b'{\"model\": [[]]}'):\n"
        "    os.write(3, b'{\"ask\": ' + q + b'}\\n')\n" + HALF, 1),
    "nested a million deep": ("os.write(3, b'[' * 10**6 + b'\\n')", 0),
    "flood of answers": ("while True: os.write(3, b'{\"value\": [' + b'0,' * 10**6 + b'0]}\\n')", 0),
    "always equal": (
        "class A:\n    __eq__ = __ge__ = lambda *a: True\n    __bool__ = lambda s: True\nreturn A()", 0),
    "not a number": ("return float('nan')", 0),
    "huge number": ("return 10**10**6", 0),
    "subclass": ("class B(int): pass\nreturn B(1)", 0),
    "lying array": (
        "class T:\n    shape, dtype = (), 'bool'\n    tolist = lambda s: True\nreturn T()", 0),
    "reads the solution": (
        f"exec(open({str(ROOT / 'solutions' / FILE)!r}).read(), globals())\nreturn is_ready("
        "arrival_times, now, max_batch_size, max_wait)", 0),
    "reads the graders": (f"open({str(ROOT / 'tests' / 'exercises' / 'serving.py')!r}).read()", 0),
    "reads other processes": ("open(f'/proc/{os.getppid()}/environ').read()", 0),
    "writes outside": (ESCAPE, 0),
    "edits the course": (f"open({str(ROOT / 'minibatch' / '__init__.py')!r}, 'a').write('#')", 0),
    "removes the course": (f"import shutil\nshutil.rmtree({str(ROOT / 'tests')!r})", 0),
    "fills the disk": ("for n in range(10**6): open(str(n), 'wb').write(bytes(2**23))", 0),
    "folders for ever": ("while True:\n    os.mkdir('x')\n    os.chdir('x')", 0),
    "links out": (f"os.symlink('/etc', 'x')\nos.listdir('x')\n{ESCAPE}", 0),
    "network": ("import socket\nsocket.create_connection(('127.0.0.1', 80))", 0),
    "patches pytest": ("import pytest\npytest.fail = print\nreturn None", 0),
    "patches the judge": (
        "from minibatch.course.judging import verdict, values\n"
        "verdict.Wrong.__init__ = print\nvalues.pack = lambda v, d=0: True\nreturn None", 0),
    "walks the heap": (
        "import gc\nfor o in gc.get_objects():\n    if type(o).__name__ == 'Worker':\n"
        "        o._send = lambda m: o._answers.write('{\"value\": true}\\n')\nreturn None", 1),
}  # fmt: skip
HONEST = {
    "right": (SOLVED, STUB_POLICY, "", (2, 0, 0)),
    "right in one line": (body(RIGHT), STUB_POLICY, "", (2, 0, 0)),
    "half": (body(HALF), STUB_POLICY, "", (1, 0, 0)),
    "nothing": (STUB, STUB_POLICY, "", (0, 0, 0)),
    "all three": (SOLVED, SOLVED_POLICY, PATCH, (2, 4, 5)),
    "the probe alone": (STUB, STUB_POLICY, PATCH, (0, 0, 5)),
    "prints a lot": (body("print('here', now)\n" + RIGHT), STUB_POLICY, "", (2, 0, 0)),
    "plots at the top": (body(RIGHT, "import matplotlib.pyplot"), STUB_POLICY, "", (2, 0, 0)),
    "keeps notes": (body("open('n', 'w').write('x')\n" + RIGHT), SOLVED_POLICY, "", (2, 4, 0)),
    "policy only": (STUB, SOLVED_POLICY, "", (0, 4, 0)),
}
BORROWED = """
class MyContinuous(mb.Scheduler):
    plan = None
    update, retire, release = mb.Scheduler.update, mb.Scheduler.retire, mb.Scheduler.release
"""


def whole_course():
    """What a student has who zips the course's folder: its environment, lessons, solutions."""
    yield from ((f"course/.venv/lib/m{n}.py", "x = 1") for n in range(6000))
    yield from ((f"course/lessons/images/{n}.svg", "<svg/>") for n in range(100))
    for name in (FILE, POLICY):
        yield f"course/solutions/{name}", (ROOT / "solutions" / name).read_text(encoding="utf-8")
    yield f"course/exercises/{FILE}", body(HALF)
    yield f"course/exercises/{POLICY}", STUB_POLICY


def evil_patch(path, line):
    return f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1,1 +1,2 @@\n+{line}\n {first_line(path)}\n"


def first_line(path):
    return (ROOT / path).read_text(encoding="utf-8").splitlines()[0]


def zipped(entries, path, **options):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries:
            archive.writestr(name, content)


def hand_in(folder):
    """Everybody's folder or archive; returns the most points of each, and the honest ones'."""
    most, exact = {}, {}

    def student(name, files):
        (folder / name).mkdir()
        for file, text in files.items():
            (folder / name / file).write_text(text, encoding="utf-8")

    for round_ in (1, 2):
        for name, (waiting, policy, patch, points) in HONEST.items():
            files = {FILE: waiting, POLICY: policy} | ({source.PATCH: patch} if patch else {})
            student(f"honest {round_} {name}", files)
            exact[f"honest {round_} {name}"] = points
    zipped(whole_course(), folder / "honest whole course.zip")
    exact["honest whole course"] = 1, 0, 0
    student("honest with two lines", {FILE: body(HALF), "name.txt": "Eve\nada  99 of 99\n"})
    exact["honest with two lines"] = 1, 0, 0
    student("solution and a blank line", {FILE: SOLVED + "\n", POLICY: STUB_POLICY})
    exact["solution and a blank line"] = 2, 0, 0  # and the note says whose it is
    os.mkfifo(folder / "pipe.zip")
    for name, (code, points) in IS_READY.items():
        before = "def spin():\n    while True: pass\n"
        student(name, {FILE: body(code, before)})
        most[name] = points
    student("borrows", {POLICY: STUB_POLICY + BORROWED})
    for name, path in {
        "a judge of its own": "minibatch/course/judging/sandbox.py",
        "a worker of its own": "minibatch/course/judging/worker.py",
        "a grader of its own": "tests/exercises/serving.py",
        "its own start": "minibatch/__init__.py",
    }.items():
        student(name, {source.PATCH: evil_patch(path, f"__import__('builtins').{ESCAPE}")})
    engine = "minibatch/engine/engine.py"
    student("an engine that escapes", {source.PATCH: evil_patch(engine, ESCAPE)})
    student("a link for a patch", {})
    (folder / "a link for a patch" / source.PATCH).symlink_to(ROOT / "solutions" / source.PATCH)
    (folder / "a folder for a patch" / source.PATCH).mkdir(parents=True)
    student("conftest", {"conftest.py": ESCAPE, "sitecustomize.py": ESCAPE, "torch.py": ESCAPE})
    zipped(
        [(f"../../../../tmp/{MARK.name}", "x"), (f"/{MARK.name}/{FILE}", STUB)], folder / "slip.zip"
    )
    zipped([(f"{n}/{FILE}", bytes(2**26)) for n in range(50)], folder / "bomb.zip")
    zipped([(f"{n}.txt", "") for n in range(9000)], folder / "crowd.zip")
    (folder / "broken.zip").write_bytes(b"PK\x03\x04" + os.urandom(999))
    with tarfile.open(folder / "tar.tgz", "w:gz") as archive:
        link = tarfile.TarInfo(FILE)
        link.type, link.linkname = tarfile.SYMTYPE, str(ROOT / "solutions" / FILE)
        archive.addfile(link)
        large = tarfile.TarInfo("large")
        large.size = 2**28
        archive.addfile(large, io.BytesIO(bytes(2**28)))
    os.mkdir(os.fsencode(folder) + b"/\xff\x1b[2J")
    names = {path.name for path in folder.iterdir()} - exact.keys()
    return {name: most.get(name, 0) for name in names}, exact


def left_overs():
    mine = {process.pid for process in psutil.Process().children(recursive=True)}
    workers = {
        p.pid
        for p in psutil.process_iter(["cmdline"])
        if "minibatch.course.judging.worker" in (p.info["cmdline"] or [])
    }
    rooms = set(Path(tempfile.gettempdir()).glob("minibatch-*"))
    return mine | workers, rooms


def test_a_class_of_honest_and_hostile_students(tmp_path):
    folder, out = tmp_path / "class", tmp_path / "out"
    folder.mkdir()
    most, exact = hand_in(folder)
    assert len(most) >= 60
    assert len(exact) == 23
    status = ["git", "-C", str(ROOT), "status", "--porcelain"]
    before, repository = left_overs(), subprocess.run(status, capture_output=True).stdout
    begin = time.monotonic()
    result = grade_class(folder, out, Options(seconds=8), jobs=2, tasks=TASKS)
    print(f"{len(result.students)} students in {time.monotonic() - begin:.0f} s")
    rows = {student.name: student for student in result.students}
    assert len(rows) == len(most) + len(exact)
    wrong = [
        (name, [v.points for v in rows[name].verdicts], rows[name].note)
        for name, points in exact.items()
        if [v.points for v in rows[name].verdicts] != list(points)
    ]
    allowed = sorted(most.values())
    undeserved = [
        (name, rows[name].points) for name, points in most.items()
        if name in rows and rows[name].points > points
    ]  # fmt: skip
    assert (wrong, undeserved) == ([], [])
    assert "the course's own solution" in rows["solution and a blank line"].note
    assert "neither a file nor a folder" in rows["pipe"].note
    assert len(result.summary().splitlines()) == len(rows) + 2  # a blank line, and the reports
    assert sum(s.points for s in result.students if s.name not in exact) <= sum(allowed)
    time.sleep(1)
    processes, rooms = left_overs()
    assert processes - before[0] == set()
    assert rooms - before[1] == set()
    assert not MARK.exists()
    assert subprocess.run(status, capture_output=True).stdout == repository
    for path in out.rglob("*"):
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            assert not any(unfit in text for unfit in "\x1b\u202e\x00"), path
            assert "<script" not in text or path.suffix != ".html"
    assert len(json.loads((out / "grades.json").read_text(encoding="utf-8"))) == len(rows)


def test_numbers_without_bounds_cost_their_task_alone(tmp_path):
    """The judge computes with what a policy plans, so it must not believe every number."""
    kernels = "ex06_a_paged_attention_kernel.py"
    ours = (ROOT / "solutions" / kernels).read_text(encoding="utf-8")
    chunks = "\n\ndef plan_chunks(*arguments):\n    return [(0, 0, 10**12)]\n"
    padding = SOLVED_POLICY.replace("sequence.num_uncomputed_tokens))", "1, 20_000_000))")
    assert padding != SOLVED_POLICY
    (tmp_path / "class").mkdir()
    for name, files in {
        "honest": (SOLVED_POLICY, ours),
        "padding": (padding, ours),
        "chunks": (SOLVED_POLICY, ours + chunks),
    }.items():
        (tmp_path / "class" / name).mkdir()
        for file, text in zip((POLICY, kernels), files, strict=True):
            (tmp_path / "class" / name / file).write_text(text, encoding="utf-8")
    tasks = [source.select(name)[0] for name in ("4.1", "6.4")]
    result = grade_class(tmp_path / "class", tmp_path / "out", jobs=2, tasks=tasks)
    points = {s.name: tuple(v.points for v in s.verdicts) for s in result.students}
    most = tuple(task.points for task in tasks)
    assert points["honest"] == most
    assert points["padding"][0] < most[0]
    assert points["padding"][1] == most[1]
    assert points["chunks"][0] == most[0]
    assert points["chunks"][1] < most[1]
    assert all(student.is_final for student in result.students), "the judge itself failed"
