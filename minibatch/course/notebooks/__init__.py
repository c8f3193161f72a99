"""Checks the lessons' notebooks and all Markdown pages.

hygiene.py   the form in which a notebook is committed, and --fix, which brings it into that form
links.py     links, pictures and cited sources, in notebooks and Markdown files
problem.py   one finding of the two checkers
"""
