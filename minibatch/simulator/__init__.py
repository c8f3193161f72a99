"""The real engine and schedulers without a model, and traffic for them.

pretend.py        a model that computes nothing
simulate.py       what a policy does to some traffic, as columns
closed_loop.py    the same for users who wait for their answers
fleet/            several replicas behind a router
fast.py           a simulator of a million requests: it stops at any time, and takes more
fast_loop.py      its loop: the schedulers' rules in O(1) for a step
fast_path.py      when it may stand in for the engine
traffic.py        arrivals and lengths as columns, drawn from public traces or read from a file
workload.py       the running example, the fifty agents, arrivals
streams.py        thirty streams of arrivals, and a policy's outcome for each
replay.py         the same requests in contiguous memory and in blocks, place by place
conversations.py  one hour of a chat service: prompts that continue earlier conversations
cost.py           the bytes and operations of a step, and the time they take
data_sheets.py    GPUs and models in numbers, with sources
presets.py        memory and step times of a model on GPUs, by their data sheets
slo.py            which requests met their SLO, and how many a second
capacity.py       the highest rate that meets an SLO, with its interval
statistics.py     percentiles that refuse too few values, intervals over seeds
claims.py         published speed-ups, run again
anyscale.py       its 23×, as three switches that are turned one by one
orca.py           its 36.9×, as a curve over the latency target
speculation.py    the gain of speculation, calculated from an acceptance rate
"""
