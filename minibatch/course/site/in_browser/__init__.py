"""Runs in a reader's browser, in bare Python with jinja2: engines on recorded answers, drawn.

A page sends a command and its arguments as JSON, and gets JSON back (`calls.py`).
Nothing here may import a package other than jinja2.

calls.py      what a page may ask for, by name
recorded.py   requests with the answers that Wayfarer gave them, and a model that repeats them
own_code.py   a reader's policy, from text to a class
own_list.py   a reader's list of requests, from text to a recording
words.json    what Wayfarer answers to the eight agents; made by ../record_words.py
playground.py one policy or two on the same requests: a report, and every step of it
arena_page.py the public matches, one after the other, and a score beside the shipped ones
exercises_page.py
              a learner's answers to the exercises of lessons 03, 04 and 09, on a few public cases
"""
