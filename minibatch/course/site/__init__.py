"""The course as web pages, to read without installing it: `python -m minibatch site DIR`.

build_site.py   runs every lesson and writes a page for each
contents.py     the page of contents: a card for each lesson
cells.py        a notebook's cells as HTML: text, code, outputs
slider_film.py  what a control shows at each place of its slider
stills.py       what a control showed when the lesson was run
"""
