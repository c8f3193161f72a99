"""The exercises as files: their one source, the stubs made from it, resets, what is handed in.

source.py        the form of a source in solutions/, and the stub that is made from it
build.py         `python -m minibatch exercises build`, and --check: what is out of date
learner_file.py  a learner's file: as it is saved now, and put back to the stub
progress.py      what this learner has tried so far
hand_in.py       `python -m minibatch handin`: what a teacher grades, in one zip
"""
