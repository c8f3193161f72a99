"""Pictures of a run. Each function takes what was measured and returns a matplotlib Figure.

A figure answers one question, and its title states the finding. Colours are Okabe and Ito's, which
colour-blind readers can tell apart; hatching and labels say the same without colour. In a notebook
a figure brings its alt text along (`picture.py`).

    timeline    who held which slot at which step, and what for
"""

from .timeline import timeline

__all__ = ["timeline"]
