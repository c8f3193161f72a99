"""The exercises as files: their one source, the stubs made from it, hints, solutions, resets.

source.py  the form of a source in solutions/, and the stub that is made from it
build.py   `python -m minibatch exercises build`, and --check, which says what is out of date
"""
