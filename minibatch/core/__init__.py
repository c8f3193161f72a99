"""The words that everything else speaks: what is asked, who runs, what happened, what time it is.

Plain Python: nothing here knows of torch, and nothing here imports another room.

    request.py       what was asked, and how far it has come
    completion.py    what comes back in the end
    plan.py          what a scheduler answers: one row for each sequence
    records.py       one step, as it is remembered
    clock.py         real time, and time that moves only when told
    collector.py     Python's garbage collector, held back and frozen
    checks.py        numbers that users give
    other_names.py   what other engines call it
"""
