"""Grades exercises: the judge and the learner's code are two processes that exchange plain data.

The *judge* is a pytest process that never imports a learner's code. The *worker* is a separate
process in which that code runs. Its limits are the *sandbox*. The judge sends questions, and only
the answers can earn points. A worker that lies gives a wrong answer; one that loops or dies costs
one task.

    judge.py            has pytest run the graders, and makes verdicts of its messages
    graders.py          the graders' process, seen from outside: a new one, or one that waits
    run_graders.py      the graders' process itself
    plugin.py           the pytest plugin: --submission, and the points of each test
    session.py          one run of pytest: the workers, and each task's results
    verdict.py          the outcomes: passed, wrong, blocked, not attempted, error, timed out
    syntax.py           the verdict on a file that Python cannot parse, in plain words
    verdict_card.py     a verdict as a learner sees it, in a terminal or a notebook
    drawing.py          two step plans, and the first step that differs
    block_map.py        which sequence holds which block, before the call where two pools differ
    student.py          a worker as the graders see it: call this function, make that class
    connection.py       a worker's process, and JSON in both directions
    pipes.py            lines to and from it
    worker_errors.py    the errors of a worker, and their sentences for the learner
    worker_files.py     a worker's environment: copies of minibatch and of the submission
    worker_usage.py     the threads and files of a worker, which no limit of the system counts
    remote_scheduler.py a learner's policy, run by a worker, in the judge's real engine
    remote_update.py    a learner's `update` alone, while the judge decides which requests run
    remote_router.py    a learner's router, in a fleet that the judge simulates
    reported_state.py   what a worker reports of its sequences and its pool, and what is true
    advances.py         checks that sequences advance as they should, and finish when they should
    noted_passes.py     an engine's forward passes, noted row by row; some of them fail
    values.py           the plain data between judge and worker
    worker.py           the worker's program
    worker_again.py     a function in the worker, called by a caller that keeps its lists
    worker_policy.py    a policy in the worker, run step by step
    worker_incidents.py a policy in an engine: a pass fails, a request is aborted, a prefix is found
    worker_block_pool.py  a block pool in the worker: called method by method, used in an engine
    worker_arena.py     a policy or a router of the arena in the worker, and what it does to blocks
    worker_router.py    a router in the worker, which keeps what it was told of each replica's cache
    worker_object.py    an object of a learner's class in the worker, called method by method
    worker_async.py     a coroutine function in the worker, on an event loop without a clock
    kernel_source.py    checks a submitted kernel's source, and compiles its function
    kernel_bench.py     the judge's kernel lab, in a worker that reads no file of the learner
    submitted_edits.py  a submission's edits in minibatch, put into a copy of it
    withheld.py         replaces modules that contain the answer
    model_proxy.py      the model that a learner's code calls in the worker; the judge computes
    another_device.py   a device that no computer has: are a learner's tensors where the model is?
    given_function.py   a plain function that it calls in the worker; the judge computes
    sandbox.py          the limits that a worker sets on itself before it reads a learner's file
    system_calls.py     the system calls among those limits
    plain_text.py       removes control characters from a learner's text
"""
