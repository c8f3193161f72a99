"""What the learner has changed, and what the course has: diff, restore, update. In bare Python.

edits.py        `diff` and `restore`: a learner's edits in minibatch/, shown and undone
update.py       `update`: the newest course, with the learner's work kept
versions.py     a version of the course as files: a commit's, a ZIP's, a folder's
settle.py       what becomes of one file that both have changed
lesson_file.py  the same for a lesson, cell by cell; and git's filter for lessons
conflicts.py    files that a pull has left with conflict marks, made whole again
"""
