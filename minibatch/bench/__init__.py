"""All timing.

stopwatch.py   what all of it is timed with
measure.py     for the lessons: this machine, a step taken apart, what steps cost
alternating.py for the lessons: whole runs in turns, and what each took
command.py     `python -m minibatch bench`: our policies beside transformers
contenders.py  who competes, and how each is asked     rounds.py  rounds and times
agreement.py   whether everyone said the same          machine_facts.py    what this was measured on
report.py      the tables                              aims.py       was it as fast as hoped
kernels.py     `bench kernels`: the attention kernels, on a GPU
compiled.py    `bench kernels --compiled`: what the compiler makes of them, without one
scheduler.py   `bench scheduler`: the engine without a model, at growing numbers of requests
prefix.py      `bench prefix`: first tokens with and without the prefix cache
graphs.py      `bench graphs`: throughput with and without CUDA graphs, on a GPU
schedules.py   `bench schedules`: every combination of policies' parts, on random traffic
"""
