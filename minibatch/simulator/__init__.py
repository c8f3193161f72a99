"""The same engine and the same schedulers without a model, and traffic for both.

pretend.py    a model that computes nothing
workload.py   the running example, the fifty agents, arrivals
streams.py    thirty streams of arrivals at once, and what a policy makes of each
replay.py     the same requests through contiguous memory and through blocks, place by place
conversations.py  a chat service's hour, whose prompts begin as earlier ones ended
cost.py       what a step has to read and to compute, and what that takes
"""
