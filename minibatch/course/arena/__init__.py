"""The arena's judge: a submission's policy in a confined process, on public and on hidden seeds.

remote.py     a policy in a worker, and the judge's engine that plays with it
judge.py      the matches of one file, and why it was stopped
lanes.py      the matches shared between two workers
play.py       a learner's file on the public matches; handing it in
run_class.py  a class on hidden seeds, and the board
card.py       the card in the notebook
confirm.py    some matches on the real model, and whether the order stays
commands.py   `python -m minibatch arena`
"""
