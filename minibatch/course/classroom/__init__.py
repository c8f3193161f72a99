"""Many submissions at once: collected, judged side by side, and reported.

submissions.py   one folder or archive for each student
unpack.py        opens one of them, out of harm's way
results.py       a row for each student
grade_class.py   judges them in parallel; a student who cannot be judged is a row, not an end
reports.py       grades.csv, a page for each student, a page for the class
gradescope.py    the same judging as an autograder for Gradescope
"""

from minibatch.course.classroom.grade_class import grade_class
from minibatch.course.classroom.results import ClassResult

__all__ = ["ClassResult", "grade_class"]
