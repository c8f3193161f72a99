"""What a worker may not do, and how much it may take."""

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from one_task import TASK

from minibatch.course.judging import sandbox
from minibatch.course.judging.student import Student
from minibatch.course.judging.worker_errors import WorkerError
from minibatch.course.judging.worker_files import remove
from minibatch.course.judging.worker_usage import removed_bytes, writes_too_much
from minibatch.course.setup import ROOT

SANDBOXED = pytest.mark.skipif(
    bool(sandbox.missing()),
    reason="there is no sandbox here (Linux with Landlock and seccomp has one)",
)

ATTACKS = {
    "reads the solutions": f"open({str(ROOT / 'solutions' / TASK.file_name)!r}).read()",
    "lists the tests": f"__import__('os').listdir({str(ROOT / 'tests')!r})",
    "reads a password file": "open('/etc/passwd').read()",
    "reads the judge's memory": "open(f'/proc/{os.getppid()}/mem', 'rb').read(1)",
    "writes in the temporary folder": "open('/tmp/minibatch-trace', 'w')",
    "changes a mode": f"os.chmod({str(ROOT / 'README.md')!r}, 0o777)",
    "changes a time": f"os.utime({str(ROOT / 'README.md')!r})",
    "shortens a file": f"os.truncate({str(ROOT / 'README.md')!r}, 0)",
    "shortens a file that it may read": "os.open(FILE, os.O_RDONLY | os.O_TRUNC)",
    "shortens it without any access": "os.open(FILE, os.O_ACCMODE | os.O_TRUNC)",
    "shortens it by another call": (
        "how = (ctypes.c_uint64 * 3)(os.O_TRUNC); "
        "ctypes.CDLL(None).syscall(437, -100, FILE, how, 24) + 1 or q"
    ),
    "links a file": f"os.symlink({str(ROOT / 'README.md')!r}, 'x')",
    "removes a file": f"os.remove({str(ROOT / 'README.md')!r})",
    "forks": "os.fork()",
    "starts a program": "subprocess.run(['ls'])",
    "replaces itself": "os.execv('/bin/ls', ['ls'])",
    "opens a socket": "socket.socket()",
    "talks to a daemon": "socket.socket(socket.AF_UNIX)",
    "kills the judge": "os.kill(os.getppid(), 9)",
    "traces the judge": "ctypes.CDLL(None, use_errno=True).ptrace(16, os.getppid(), 0, 0) + 1 or q",
    "mounts": "ctypes.CDLL(None).mount(b'/', b'/', b'none', 4096, None) + 1 or q",
    "takes the judge's memory": "resource.prlimit(os.getppid(), resource.RLIMIT_AS, (1, 1))",
    "raises its own limits": "resource.setrlimit(resource.RLIMIT_AS, (2**40, 2**40))",
    "ties the judge to one core": "os.sched_setaffinity(os.getppid(), {0})",
    "puts itself first": "os.setpriority(os.PRIO_PROCESS, os.getppid(), 19)",
    "has memory that nobody counts": "os.memfd_create('x')",
    "shares memory": "ctypes.CDLL(None).shmget(0, 4096, 0o1600) + 1 or q",
    "takes disk space at once": "os.posix_fallocate(os.open('x', 65), 0, 2**20)",
    "hides its open files": "ctypes.CDLL(None).prctl(4, 0, 0, 0, 0) + 1 or q",
    "outlives its judge": "ctypes.CDLL(None).prctl(1, 0, 0, 0, 0) + 1 or q",
    "writes in the submission": "open(__file__, 'a')",
    "changes what others import": "open(__import__('minibatch').__file__, 'a')",
    "aims a file's signals at its judge": "fcntl.fcntl(0, fcntl.F_SETOWN, os.getppid())",
    "aims them by structure": "fcntl.fcntl(0, 15, bytes(8))",
    "chooses their number": "fcntl.fcntl(0, 10, 9)",
    "aims a socket's signals": "fcntl.ioctl(0, 0x8901, (1).to_bytes(4, 'little'))",
    "looks into the judge's room": "os.listdir(pathlib.Path(__file__).parents[2])",
}


OLDER = {"most_abi": 1}, {"most_abi": 3}, {"most_abi": 5}, {"namespaces": False}
COMPUTERS = [pytest.param({}, id="this computer")]
COMPUTERS += [pytest.param(lacks, id=str(lacks)) for lacks in OLDER]


@pytest.fixture
def lacking(monkeypatch):
    """Makes workers limit themselves as an older kernel or a container would."""

    def lack(parts):
        limits = Student._sandbox_limits
        monkeypatch.setattr(Student, "_sandbox_limits", lambda *given: limits(*given) | parts)

    return lack


@SANDBOXED
@pytest.mark.parametrize("lacks", COMPUTERS)
def test_a_worker_in_the_sandbox_refuses(worker, lacking, lacks):
    """Every attack raises (some call C, which answers −1: `q` is then a NameError)."""
    lacking(lacks)
    before = (ROOT / "README.md").stat()
    code = "import ctypes, fcntl, os, pathlib, resource, socket, subprocess\n"
    code += "FILE = os.fsencode(__file__)\nsize = os.path.getsize(FILE)\ndef f(code):\n"
    student = worker(code + "    exec(code, globals())", sandbox=True)
    done = {}
    for name, attack in ATTACKS.items():
        try:
            done[name] = student.call("f", attack)
        except WorkerError as error:
            if not re.match(
                "PermissionError|OSError|NameError|ValueError: not allowed", str(error)
            ):
                done[name] = str(error)
    assert done == {}
    after = (ROOT / "README.md").stat()
    assert (before.st_mode, before.st_mtime, before.st_size) == (
        after.st_mode,
        after.st_mtime,
        after.st_size,
    )
    assert not Path("/tmp/minibatch-trace").exists()


@SANDBOXED
@pytest.mark.parametrize("lacks", COMPUTERS)
def test_a_worker_in_the_sandbox_makes_the_kernel_signal_nobody(worker, lacking, lacks):
    """Each step of this ends in an error; none may have an effect."""
    lacking(lacks)
    code = """
    import contextlib, ctypes, fcntl, os, signal
    def f(other):
        ends = os.pipe()
        to_other = bytes(4) + other.to_bytes(4, "little")
        c = ctypes.CDLL(None)
        for step in (
            lambda end: fcntl.fcntl(end, fcntl.F_SETOWN, other),
            lambda end: fcntl.fcntl(end, 15, bytes([1]) + bytes(3) + other.to_bytes(4, "little")),
            lambda end: fcntl.ioctl(end, 0x8901, other.to_bytes(4, "little")),
            lambda end: fcntl.fcntl(end, fcntl.F_SETSIG, 9),
            lambda end: c.fcntl(end, ctypes.c_ulong(2**32 + 8), other),
            lambda end: fcntl.fcntl(end, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK),
            lambda end: os.write(end, b"x" * 2**12),
            lambda end: os.read(end, 2**12),
            lambda end: os.close(end),
            lambda end: os.kill(other, 9),
            lambda end: signal.pidfd_send_signal(os.pidfd_open(other), 9),
        ):
            for end in ends:
                with contextlib.suppress(OSError):
                    step(end)
    """
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    with other:
        worker(code, sandbox=True).call("f", other.pid)
        other.communicate(b"end\n")
    assert other.returncode == 0


@SANDBOXED
def test_a_worker_in_the_sandbox_ends_with_its_judge(tmp_path):
    """Killed in the midst of an endless loop, a judge leaves no process behind."""
    (tmp_path / TASK.file_name).write_text(
        "import os\nprint(os.getpid(), flush=True)\nwhile True: pass\n"
    )
    program = (
        "import sys, pathlib, threading, time\n"
        "from minibatch.course.judging.student import Student\n"
        "from minibatch.course.exercises.source import Task\n"
        f"task = Task(*{(TASK.id, TASK.title, TASK.stem)})\n"
        f"student = Student(pathlib.Path({str(tmp_path)!r}), task)\n"
        "def tell():\n"
        "    while not student.printed.strip(): time.sleep(0.05)\n"
        "    print(student.printed, flush=True)\n"
        "threading.Thread(target=tell, daemon=True).start()\n"
        "student.ask('call', name='f', args=[], kwargs={})"
    )
    judge = subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path)},  # it cannot tidy up
    )
    worker = int(judge.stdout.readline())
    judge.kill()
    judge.wait()
    for _ in range(100):
        if not Path(f"/proc/{worker}").exists():
            return
        time.sleep(0.05)
    raise AssertionError("the worker goes on without its judge")


# What it may take ---------------------------------------------------------------------------------

TOO_MUCH = {
    "files": ("for n in range(10**6): open(f'{n}', 'w')", "writes_too_many_files|No space left"),
    "bytes": ("for n in range(99): open(f'{n}', 'wb').write(bytes(2**23))", "64 MB|No space left"),
    "folders": (
        "for n in range(10**6):\n        os.mkdir('x')\n        os.chdir('x')",
        "writes_too_many_files|No space left",
    ),
    "files that it removes": (
        "while True:\n        with open('x', 'wb') as file: file.write(bytes(2**23))\n"
        "        kept.append(os.open('x', os.O_RDONLY))\n        os.remove('x')",
        "writes_too_many_files|No space left",
    ),
    "files that it removes and maps": (
        "while True:\n        with open('x', 'wb+') as file:\n"
        "            file.write(bytes(2**23))\n            file.flush()\n"
        "            kept.append(mmap.mmap(file.fileno(), 4096))\n"
        "            kept[-1][0], _ = 1, os.remove('x')",
        "writes_too_many_files|No space left",
    ),
    "files without a name": (
        "while True: kept.append(os.open('.', os.O_TMPFILE | os.O_RDWR)); "
        "os.write(kept[-1], bytes(2**23))",
        "writes_too_many_files|No space left",
    ),
    "threads": (
        "threading.stack_size(2**16)\n"
        "    while True: threading.Thread(target=time.sleep, args=[99]).start()",
        "starts_too_many_threads",
    ),
    "questions": ("while True: os.write(OUT, ASK)\n", "does_not_listen"),
    "an endless line": ("while True: os.write(OUT, b'x' * 2**16)", ""),
    "processor time": (
        "for _ in range(9): threading.Thread(target=spin).start()\n    spin()",
        "",
    ),
}


ON_A_DISK = [name for name in TOO_MUCH if name.startswith("files")]  # without namespaces


@SANDBOXED
@pytest.mark.parametrize(
    ("name", "lacks"),
    [(name, {}) for name in TOO_MUCH] + [(name, {"namespaces": False}) for name in ON_A_DISK],
)
def test_who_takes_too_much_is_ended_in_time(worker, lacking, name, lacks):
    import resource  # which Windows, which has no sandbox, does not have

    lacking(lacks)
    body, names = TOO_MUCH[name]
    code = (
        'import mmap, os, threading, time\nkept = []\nOUT, ASK = 3, b\'{"ask": {"model": 0}}\\n\'\n'
    )
    code += "def spin():\n    while True: pass\n"
    student = worker(f"{code}def f():\n    {body}\n", sandbox=True, seconds=4)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin = time.monotonic()
    with pytest.raises(WorkerError) as raised:
        student.call("f")
    room = student._room
    student.close()
    assert any(each in str(raised.value) for each in names.split("|"))
    assert time.monotonic() - begin < 12
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < 200 * 1024  # KiB
    assert room is None or not room.exists()


@SANDBOXED
@pytest.mark.parametrize("mode", [0o300, 0o700])
def test_files_in_a_folder_that_nobody_may_list_are_too_many(mode):
    """Judged as a user without privileges, since the superuser lists every folder."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o777)
    child = os.fork()
    if child == 0:
        if os.geteuid() == 0:
            os.setuid(65534)
        (folder / "hidden").mkdir(mode)
        os._exit(writes_too_much(os.getpid(), folder, 10, 2**30))
    _, status = os.waitpid(child, 0)
    remove(folder)
    assert os.waitstatus_to_exitcode(status) == (mode == 0o300)
    assert not folder.exists()


def test_a_worker_that_ends_while_its_files_are_counted_does_not_end_the_watch(monkeypatch):
    def no_such_process(_):
        raise ProcessLookupError(3, "No such process")

    monkeypatch.setattr(os, "scandir", no_such_process)
    monkeypatch.setattr(os, "listdir", no_such_process)
    assert removed_bytes(os.getpid()) >= 0
