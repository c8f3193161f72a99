"""The loop, and what is known about a run afterwards.

engine.py           plan, run, update, record
intake.py           what an engine has room for: requests taken in, or refused with the numbers
argument_checks.py  checks of parts, requests and what a policy returned, with errors that help
guard.py            one thread at a time, and recovery after an exception
recovery.py         after an exception: running requests go back to the queue, all blocks are free
arrivals.py         requests still to arrive; refused at a full queue, or ended at a deadline
callbacks.py        functions that are called with the record of every step
overlap.py          the other loop: step n + 1 is planned and launched while step n runs
held_blocks.py      blocks that a step in flight still uses are not free yet
serving.py          step until requests have ended: to the end, or token by token
invariants.py       what must hold between any two steps
trace.py            what happened, step by step
metrics.py          the figures of a run
memory_use.py       how each place of the pool was used
fairness.py         tokens of each client, and how evenly
chrome_trace.py     a run for https://ui.perfetto.dev
"""
