"""The loop, and what is known of it afterwards.

engine.py         plan, run, update, record
intake.py         what an engine has room for: requests taken in, or refused with the numbers
kinds.py          what it is handed: parts, requests, a policy's answers, or a sentence that says so
turn.py           one thread at a time
arrivals.py       who is still to come, and who is turned away at the door
recovery.py       after an exception: everyone where they belong, every block accounted for
invariants.py     what must hold between any two steps
trace.py          what happened, step by step
metrics.py        what a run amounts to
memory_use.py     what every place of the pool was good for
goals.py          what it was worth: goodput, fairness
chrome_trace.py   a run for https://ui.perfetto.dev
"""
