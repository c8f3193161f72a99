"""The learner's changes and the course's: diff, restore, update. Standard library only.

learner_edits.py  `diff` and `restore`: shows and undoes a learner's edits in minibatch/
update.py         `update`: the newest course, with the learner's work kept
versions.py       a version of the course as files: of a commit, a ZIP or a folder
merge_file.py     merges one file that both the learner and the course have changed
lesson_file.py    the same for a lesson, cell by cell; and git's filter for lessons
conflicts.py      repairs files in which a pull has left conflict marks
"""
