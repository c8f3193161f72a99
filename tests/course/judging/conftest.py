import textwrap

import pytest
from one_task import TASK

from minibatch.course.judging.desk_errors import Limits
from minibatch.course.judging.student import Student


@pytest.fixture
def desk(tmp_path):
    """Opens desks on code given as text, and closes them."""
    opened = []

    def open_desk(code, sealed=False, seconds=5.0, memory_gb=1.0, withheld=None):
        (tmp_path / TASK.file_name).write_text(textwrap.dedent(code), encoding="utf-8")
        limits = Limits(seconds, int(memory_gb * 2**30))
        student = Student(tmp_path, TASK, sealed=sealed, limits=limits, withheld=withheld)
        opened.append(student)
        return student

    yield open_desk
    for student in opened:
        student.close()
