"""The figures: one function in each file, of the same name, loaded from `minibatch.plots`.

timeline.py          which request had which slot at which step, and for what
staircase.py         how many rows of each step yield a token, and how many are padding
token_grid.py        what a few requests did in each of a few steps, one letter a cell
rectangle.py         prompts of a padded batch: words, padding, mask and positions
phase_costs.py       the time that a run spent on prompts, and on answers
finish.py            a race of policies in seconds: answers that have ended, up to the last
scoreboard.py        fifty agents under each lesson's policy: seconds, first words, waste, money
same_answers.py      two policies with the same answers: equal areas are equal work
waits.py             each request's wait for a slot, for its first token, for its last
arrivals.py          when requests arrive
departures.py        which requests wait, when a batch starts, and what runs then, in seconds
departure_difference.py   two runs of the same requests, and the first batch that differs
window_curve.py      the effect of a window on TTFT or on the machine, over many streams
stream_and_window.py one stream's batches, above all streams by window
rules.py             rules for when a batch may leave, on the same streams
pass_times.py        the time of every pass of two runs
savings.py           how many passes and how many seconds several runs took
passes.py            which tokens go into every pass of one answer, word by word
phases.py            the cost of a token read, and of a token written
dumbbells.py         several runs' numbers as multiples of the first run's
factors.py           one speed-up as a product of factors, in several orders
scorecard.py         a few numbers of several runs, a panel for each number
heartbeat.py         the time from each token of an answer to the next
seismograph.py       a line for each answer, thick while another request's prompt delays it
prompt_progress.py   how much of each prompt is computed, chunk by chunk
budget_curve.py      the effect of a token budget on ITL, TTFT and throughput
thrown_away.py       tokens in memory, request by request, and those recomputed
livelock.py          requests that preempt one another: what each has in memory
waste_bars.py        several policies on one axis: the tokens that each computed in vain
block_needs.py       blocks that requests need step by step, up to their maximum, and the pool
waits_by_arrival.py  each request's TTFT by arrival time, and which requests were refused
melting.py           a step's tokens: a padded rectangle, laid end to end, and their mask
attention_mask.py    which tokens of a packed line each token may read
tradeoff.py          tokens a second of all slots, against the time between two tokens of one
kv_read.py           what attention reads of the KV cache, step by step
token_costs.py       the cost of the next token with and without a KV cache
machine_limits.py    a memory and a processor: bytes a second, operations a second
gpu_account.py       the calculated cost of a decode step on a GPU, at several batch sizes
cost_stack.py        the calculated cost of a decode step by cause, beside the measured one
saved_by_batching.py the time that one step of a batch saves, by cause
roofline.py          what a machine can reach at most, and what was reached
memory_use.py        how every place of a pool is used, step by step
fragmentation.py     allocators side by side: how much of the memory holds tokens
two_by_two.py        two ideas with and without each, and the gain of each
table_and_pool.py    where an answer's tokens are stored: from the block table to the pool
block_size_tradeoff.py    what large blocks cost
prefix_tree.py       prompts with common beginnings, and what each found in the cache
pool_states.py       the blocks of a pool at a few moments: holders, and what can be found
first_tokens.py      each request's wait for a first token, with and without the prefix cache
hit_curve.py         how much of the prompts is found, by the number of blocks
block_table_walk.py  which blocks of the pool a kernel reads, for which row, in what order
warp_access.py       the memory that one instruction of a warp uses, and the sectors it asks for
warp_film.py         the same for every instruction of a warp, one after the other
shuffle_sum.py       a sum by shuffles: which lanes' numbers each lane has added up
dataflow.py          which thread writes, and which reads, an array between two barriers
online_softmax.py    a softmax that never sees all scores, tile by tile
ladder.py            kernels with equal results, and how many times they ask for what they need
in_flight.py         bytes that kernels have asked for and not yet received, and what a GPU needs
waves.py             thread blocks on the multiprocessors of a model GPU
drafts.py            draft tokens of one request: accepted, rejected, not verified
simulation_errors.py how far a simulation is from a real run, and a second real run from it
real_and_simulated.py    a workload for real, simulated, and for real again, with the error
accept_or_redraw.py  rejection sampling: what is proposed, accepted, drawn again
speculation.py       the gain of speculation by batch size, and where it becomes a loss
request_times.py     one request: which stretch TTFT, ITL and e2e measure
two_clocks.py        the same requests timed from when they were due, and from when they were sent
two_lanes.py         what the CPU and the model do during a few steps, with and without overlap
percentile_spread.py the same percentile from runs of different sizes, over many seeds
knee.py              throughput and TTFT over the load, for several policies and seeds
ratio_by_target.py   a speed-up over the latency target at which it is read
claims.py            published speed-ups beside the same settings in the simulator
token_way.py         the first tokens of a request: from client to engine, and back
cumulative.py        the share of requests within a latency, for several measurements
hang_up.py           a client hangs up while a step runs: when its blocks are free
plan_difference.py   two runs of the same requests, and the first step that differs
queue_tails.py       how many requests wait longer than x: one queue for all replicas, or one each
replica_loads.py     the load of each replica over time, and its requests or cache hits
recorded_replicas.py what clients saw while a replica on Ray Serve was killed
stale_views.py       the p99 over the age of what a router sees
apart_or_mixed.py    the share of requests in time over the load: prefill and decode apart, or mixed
autoscaled_day.py    a day under several autoscalers: replicas, waits, money
token_deadlines.py   the tokens of a few answers over time, and the deadline of each
around_request.py    one request of a match, and what all others did while it was there
request_values.py    what each request of a match was worth, by arrival and by kind
scores_by_load.py    the scores of a few policies over the load
ablation.py          a policy with one part replaced at a time: the difference of its score
leaderboard.py       the scores of many policies on public and on hidden traffic
room.py              what a class predicted, and the true number
"""
