"""What looks after the lessons' pages.

hygiene.py   the one form a notebook is committed in, and --fix, which brings it there
links.py     links, pictures and cited sources, in notebooks and Markdown files
problem.py   what both of them find
"""
