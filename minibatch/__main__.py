"""`python -m minibatch COMMAND`: what a learner types.

The commands are in minibatch/course/setup/cli.py.

Keep this file and minibatch/__init__.py, which Python reads first, readable by any Python 3, so
that an old one is turned away in a sentence.
"""

import sys

if sys.version_info < (3, 11):
    sys.exit(
        "minibatch needs Python 3.11 or newer, and this is Python {}.{} ({}).\n"
        "Install one from https://www.python.org/downloads/ and name it when you start, "
        "for example: python3.12 -m minibatch lab".format(
            *(sys.version_info[:2] + (sys.executable,))
        )
    )

if __name__ == "__main__":
    try:
        from minibatch.course.setup.cli import main
        from minibatch.course.setup.process import accept_interrupts

        accept_interrupts()  # another command of ours may have started this one
        status = main(sys.argv[1:])
    except SyntaxError as error:  # in minibatch/ itself, which learners edit
        status = (
            "{}, line {}: {}\nFix that; or restore the course's version of the file: `python -m "
            "minibatch restore` (a copy is kept), `git checkout HEAD -- FILE`, or from a fresh "
            "download."
        ).format(error.filename, error.lineno, error.msg)
    except KeyboardInterrupt:  # while the commands themselves are imported
        status = 130
    sys.exit(status)
