"""Starts JupyterLab. Ctrl-C before it is open ends it with a sentence instead of a traceback.

`lab` runs this as a program, with JupyterLab's arguments.
"""

import asyncio
import os
import signal
import sys

from minibatch.course.setup.process import accept_interrupts


def main() -> int | None:
    """Run JupyterLab until it ends."""
    signal.signal(signal.SIGINT, _stop)
    accept_interrupts()
    from jupyterlab.labapp import main as jupyterlab

    return jupyterlab()


def _stop(number: int, frame: object) -> None:
    """Leave at once while no event loop runs: nothing has been opened that must be closed. Later
    JupyterLab decides; on a terminal it replaces this handler."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        print("\nStopped before JupyterLab was open.", file=sys.stderr, flush=True)
        os._exit(130)
    signal.default_int_handler(number, frame)


if __name__ == "__main__":
    sys.exit(main())
