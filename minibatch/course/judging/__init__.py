"""Who judges, and who is judged: two processes that exchange plain data.

The *judge* is a pytest that never imports a learner's code. The *desk* is a process of its own,
with limits, in which that code runs. The judge asks, the desk answers, and only what the answers
are can earn a point: a desk that lies merely gives a wrong answer; one that loops or dies costs a
task.

    judge.py         has pytest run the graders, and makes verdicts of what it tells
    graders.py       that process from outside: new, or ready for a notebook's next check
    run_graders.py   and from inside
    plugin.py        pytest's side: --submission, whose test is worth what
    session.py       one run of it: the desks, and what each task's tests came to
    verdict.py       what comes out: passed, wrong, blocked, not attempted, error, timed out
    syntax.py        a file that Python cannot read, told at once, in plain words
    card.py          a verdict as a learner sees it, in a terminal or a notebook
    drawing.py       two step plans, and the first step that differs
    block_map.py     who holds which block of a pool, before the call in which two pools part
    student.py       a desk as the graders see it: call this function, make that class
    line.py          the line to it: a process, JSON there and back
    desk_errors.py   what can go wrong there, and what the learner is told
    surroundings.py  what a desk finds around it: copies of minibatch and of the submission
    remote.py        a learner's policy on its desk, in a real engine at the judge's
    led.py           the learner's `update` alone; who runs is decided at the judge's
    books.py         the judge's books on a desk: its pool, and what it says of each sequence
    advances.py      whether sequences advance as they should, and who finishes when
    values.py        the plain data between the two
    desk.py          the other end, in the learner's process
    desk_policy.py   a policy there, asked step by step
    desk_pool.py     a pool there: walked through calls, and put into an engine
    kernel_source.py a submitted kernel's source, held against what a kernel may be
    kernel_bench.py  the judge's kernel lab, at a desk at which nothing of a learner's is read
    withheld.py      modules that hold the answer, replaced
    stand_in.py      the model that a learner's code calls there; the judge computes
    confinement.py   the limits a desk puts on itself before it reads a learner's file
"""
