"""The course as web pages, to read without installing it: `python -m minibatch site DIR`.

build_site.py   runs every lesson and writes a page for each
contents.py     the page of contents: the map, ways, a card for each lesson
course_map.py   the map of the course as an SVG
cells.py        a notebook's cells as HTML: text, code, outputs
live_stills.py  a picture for a page that cannot run
slider_film.py  what a control shows at each place of its slider
stills.py       what a control showed when the lesson was run
recorded_scoreboard.py
                a scoreboard of another machine, shown instead of an empty one
live_page.py    the playground and the arena, whose Python runs in the reader's browser
record_words.py Wayfarer's words for the eight agents, for the playground
npm_package.py  that Python and the editor: pinned and checked tarballs
serve.py        the pages on this computer, each file with its type
in_browser/     engines on recorded answers, drawn, for a page's own Python
"""
