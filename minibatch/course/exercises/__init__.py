"""The exercises as files: their sources, the stubs made from them, resets, the hand-in.

source.py        the form of a source in solutions/, and the stub that is made from it
build_stubs.py   `python -m minibatch exercises build`; --check lists stubs that are out of date
learner_file.py  a learner's file: reads it as it is saved now, and puts it back to the stub
progress.py      the results of this learner so far
hand_in.py       `python -m minibatch handin`: everything that a teacher grades, in one zip
"""
