"""The graders' process: pytest, and a pipe of its own on which verdicts leave, task by task.

    python -m minibatch.course.judging.run_graders ARGUMENTS OF PYTEST

What pytest says goes to standard error. Nothing but this file writes to what was standard output,
no desk inherits it, and there is no report on a disk for anybody to find.
"""

from __future__ import annotations

import json
import os
import sys

import pytest


def main() -> int:
    """Run them; pytest's exit status."""
    report = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)

    def tell(task_id: str, results: list[dict], printed: str) -> None:
        report.write(json.dumps({"task": task_id, "results": results, "printed": printed}) + "\n")

    class Reporter:
        @pytest.hookimpl(tryfirst=True)
        def pytest_configure(self, config: pytest.Config) -> None:
            config.tell_verdict = tell

    return int(pytest.main(sys.argv[1:], plugins=[Reporter()]))


if __name__ == "__main__":
    sys.exit(main())
