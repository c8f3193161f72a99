"""What makes this a course rather than an engine: nothing in the engine imports it.

For now it looks after the lessons' pages, `python -m minibatch notebooks`:

    hygiene.py  the one form a notebook is committed in, and --fix, which brings it there
    links.py    links, pictures and cited sources, in notebooks and Markdown files
    problem.py  what both of them find
"""
