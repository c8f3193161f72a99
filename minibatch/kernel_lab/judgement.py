"""Two more checks of a launch: whose memory it uses, and the expected output."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from .arrays import DID, READS, Watched
from .faults import SITES, Notes
from .threads import listed, thread_of

AXES = {1: "element", 2: "row element", 3: "row head element", 4: "row token head element"}


def find_foreign(array: Watched, owners: np.ndarray, row_of: Callable, notes: Notes) -> None:
    """Adds a fault for each line that reads another row's slots, or writes slots that the row does
    not own alone.

    owners: bool [rows, slots], the slots of each row; row_of: (x, y, z) of a thread block -> its
    row, or a list of its rows. A slot that no row owns is unwritten memory: another fault.
    """
    columns = array.columns
    blocks, of = np.unique(columns.thread // prod(notes.threads), return_inverse=True)
    firsts = (blocks * prod(notes.threads)).tolist()
    rows = [np.atleast_1d(row_of(*thread_of(first, notes).block)).tolist() for first in firsts]
    slot = columns.place // (array.size // owners.shape[1])
    own = np.reshape([owners[each].sum(0) for each in rows], (-1, owners.shape[1]))[of, slot]
    others, writes = owners.sum(0)[slot] - own, columns.how != READS
    is_foreign = (others > 0) & (writes | (own == 0))
    for site in np.unique(columns.site[is_foreign]):
        here = np.flatnonzero(is_foreign & (columns.site == site))
        first = here[0]
        whose = listed("row", np.flatnonzero(owners[:, slot[first]]).tolist())
        text = f"{{who}}, which works for {listed('row', rows[of[first]])}, "
        text += f"{DID[columns.how[first]]} {array.at(columns.place[first])}, a slot of {whose}"
        own = {"thread": thread_of(int(columns.thread[first]), notes), "count": len(here)}
        notes.fault("foreign", text, SITES[site], what=array.name, **own)


def difference(name: str, got: np.ndarray, expected: np.ndarray, tolerance: float) -> str:
    """A sentence about the first wrong element; "" if there is none."""
    close = np.isclose(got, expected, rtol=tolerance, atol=tolerance) | np.isnan(expected)
    if close.all():
        return ""
    first = np.unravel_index(int(np.argmax(~close)), close.shape)
    axes = AXES.get(close.ndim, "axis " * close.ndim).split()
    where = ", ".join(f"{axis} {at}".strip() for axis, at in zip(axes, first, strict=True))
    few = []
    for i, axis in enumerate(axes[:-1]):
        found = np.unique(np.nonzero(~close)[i]).tolist()
        if len(found) < close.shape[i]:
            few.append(listed(axis, found))
    among = f", all of them in {' and '.join(few)}" if few else ""
    number = f"{int((~close).sum()):,} of {close.size:,}"
    return (
        f"{name} is first wrong at {where}: it is {got[first]:.6g} and should be "
        f"{expected[first]:.6g}; {number} elements are wrong{among}"
    )
