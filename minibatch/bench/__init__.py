"""All timing.

stopwatch.py         the stopwatches that everything here uses
measure.py           for the lessons: this machine, the parts of a step, the cost of steps
alternating.py       for the lessons: whole runs in turns, and the time of each
speculating.py       for the lessons: tokens per second with and without draft tokens
calibrate.py         `mb.calibrate`: the cost of steps, fitted to real runs, with its error
calibration.py       its result: costs, errors, conditions; saved and read again
held_out.py          a real run, its simulation, and the real run again: their differences
step_periods.py      the time of every step of a run, until the next one starts
load_client.py       sends requests when they are due, and counts latency from then
load_report.py       the rows of such a run, and its latencies from "sent" and from "due"
answers.py           an answer as a client sees it: pieces, and the tokens they hold
replay_url.py        `mb.replay`: requests against any OpenAI-compatible server
replay_command.py    `python -m minibatch replay`
replay_workloads.py  the requests of a replay: by name, or from a trace
replay_report.py     its table, its warnings, and its file of rows
replay_trace.py      the same as a trace, for the pictures
openai_client.py     one server: connections, requests, failures
openai_pieces.py     a chunk of its stream, as each server writes it
event_stream.py      server-sent events out of bytes
client_load.py       whether the client itself kept up
null_server.py       a server without a model: the most that a client reads
command.py           `python -m minibatch bench`: our policies beside transformers
contenders.py        the systems that are compared, and how each is called
rounds.py            rounds and times
agreement.py         whether all contenders gave the same answers
machine_facts.py     the machine of a measurement
bench_report.py      the tables
kernels.py           `bench kernels`: the attention kernels, on a GPU
compiled_kernels.py  `bench kernels --compiled`: the compiler's output for them, without a GPU
scheduler.py         `bench scheduler`: the engine without a model, for more and more requests
prefix_caching.py    `bench prefix`: first tokens with and without the prefix cache
under_load.py        `bench load`: the engine alone, and beside a program on one core
overlapped.py        `bench overlap`: the engine without and with overlapped scheduling, in turns
served.py            what the server costs: CPU a token, latencies at its clients
peers.py             `bench peers`: this server beside others, in turns
peer_servers.py      these servers: started, stopped, and their CPU time
gguf_file.py         weights as llama.cpp's server reads them
cuda_graphs.py       `bench graphs`: throughput with and without CUDA graphs, on a GPU
gpu_checks.py        parts of `python -m minibatch gpu`: kernels, tokens and speed, as rows
"""
