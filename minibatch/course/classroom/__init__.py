"""Many submissions at once: collected, judged in parallel, and reported.

submissions.py   finds one folder or archive for each student
unpack.py        opens one of them, in a confined process
results.py       a row for each student
grade_class.py   judges them in parallel; a submission that cannot be judged is a row, not an error
reports.py       grades.csv, a page for each student, a page for the class
gradescope.py    the same judging as an autograder for Gradescope
"""

from minibatch.course.classroom.grade_class import grade_class
from minibatch.course.classroom.results import ClassResult

__all__ = ["ClassResult", "grade_class"]
