"""Policies that try to score without serving well. A test plays each, and checks its place.

Each file is a submission like any other. The judge's worker reads them.

starve_the_late.py     admits last what is late already           below an honest policy
newest_first.py        the newest request is next                 below an honest policy
read_the_length.py     shortest `max_tokens` first                the score of FCFS: all are equal
smooth_the_gaps.py     delays tokens, so that no gap is long      below FCFS: deadlines do not move
patch_the_engine.py    changes clock, trace, score; seeks lengths the score of FCFS: they are copies
know_the_seeds.py      makes the public matches again             hidden seeds: the score of FCFS
think_forever.py       a plan that never ends                     0: stopped
beat_physics.py        more tokens in a step than fit             0: stopped
refuse_everyone.py     refuses all that arrives                   below FCFS: few refusals are paid
read_the_future.py     seeks requests that are still to arrive    the score of FCFS: none are there
"""

from pathlib import Path

FOLDER = Path(__file__).parent
CHEATERS = {path.stem: path for path in sorted(FOLDER.glob("[a-z]*.py"))}
