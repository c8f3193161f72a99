"""Checks the lessons' notebooks and all Markdown pages, and runs notebooks.

hygiene.py        the form in which a notebook is committed; --fix brings it into that form
links.py          links, pictures and cited sources, in notebooks and Markdown files
problem.py        one finding of the two checkers
run_notebook.py   a client that runs a notebook and overlooks no reply
"""
