import textwrap

import pytest
from one_task import TASK

from minibatch.course.judging.student import Student
from minibatch.course.judging.worker_errors import Limits


@pytest.fixture
def worker(tmp_path):
    """Opens workers on code given as text, and closes them."""
    opened = []

    def open_worker(code, sandbox=False, seconds=5.0, memory_gb=1.0, withheld=None):
        (tmp_path / TASK.file_name).write_text(textwrap.dedent(code), encoding="utf-8")
        limits = Limits(seconds, int(memory_gb * 2**30))
        student = Student(tmp_path, TASK, sandbox=sandbox, limits=limits, withheld=withheld)
        opened.append(student)
        return student

    yield open_worker
    for student in opened:
        student.close()
