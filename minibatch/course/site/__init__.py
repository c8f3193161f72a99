"""The course as pages to read without installing anything: `python -m minibatch site DIR`.

build.py    runs every lesson and writes a page for each
contents.py the lessons as cards, on the page that leads to them
cells.py    a notebook's cells as HTML: text, code, outputs
film.py     what a control shows at each place of its slider
stills.py   what a control showed when the lesson was run
"""
