"""The same engine and the same schedulers without a model, and traffic for both.

pretend.py    a model that computes nothing
workload.py   the running example, the fifty agents, arrivals
cost.py       what a step has to read and to compute, and what that takes
"""
