"""A learner's policy in an engine of its own, to which something happens on the way."""

from minibatch.course.judging.verdict import Wrong
from minibatch.course.judging.worker_errors import NotAttempted, Raised
from minibatch.course.judging.worker_incidents import rows_of_a_run


def goes_on_as_ours(student, name, arguments, ours, said, requests, **incidents):
    """Its rows are those of our policy in every step. arguments: of the learner's class `name`.
    requests: (name, prompt's ids or their number, answer, arrival) each. said: what happens, and
    what is due then."""
    requests = [[n, [7] * p if type(p) is int else p, *rest] for n, p, *rest in requests]
    due = rows_of_a_run(ours, requests, **incidents)
    asked = {"name": name, "arguments": arguments, "requests": requests, "incidents": incidents}
    try:
        got = student.unpacked(student.ask("incidents", **asked))
    except NotAttempted:
        raise
    except Raised as error:
        error.sentence = f"{said} Your policy fails with {error.sentence.rstrip('.')}."
        raise
    got = got if isinstance(got, list) else []
    for number in range(max(len(due), len(got))):
        expected, rows = (
            ", ".join(": ".join(map(str, row)) for row in steps[number]) or "no rows"
            if number < len(steps)
            else "no such step"
            for steps in (due, got)
        )
        if expected != rows:
            raise Wrong(
                f"{said} The rows of step {number + 1} are wrong.", expected=expected, got=rows
            )
