"""Controls for a notebook: engines to step through, and a sandbox with synthetic traffic.

    EnginePlayer    a real engine, step by step, forward and back
    BlockMap        the pool of a real engine, block by block, beside its slots
    MemoryPlayer    the same requests through several memories, every place of each
    EngineRace      two or three of them in lockstep, by step or by second
    KernelStepper   a CUDA thread block from barrier to barrier, as the kernel lab saw it
    Slide           a figure that is drawn again as a slider moves
    WindowSlider    which requests leave when, as you move the window that a batch waits
    Playground      any policies on synthetic arrivals, re-planned as you move the controls
    watch           answers that grow side by side while an engine serves them
    Answers         the same for answers from elsewhere, such as a server's

Everything drawn here comes from step records (`engine.trace`), so any policy can be shown.

    player.py             EnginePlayer           block_map.py         BlockMap
    memory_player.py      MemoryPlayer           race.py              EngineRace
    kernel_stepper.py     KernelStepper          slide.py             Slide
    window_slider.py      WindowSlider           playground.py        Playground
    watching.py           watch, Answers
    predict.py            `mb.predict` and `mb.predict_curve`: a question before a run
    still.py              a widget that leaves a picture of itself in a saved notebook
    stepping.py           controls to step along a run: back, step, play, go to
    run_film.py           an engine's run as a list of frames
    film_controls.py      the stepping controls for such a film
    pool_film.py          the pool after each step
    pool_grid.py          one of them as a grid of blocks
    frame.py              one frame as HTML: slots, queue, answers
    lanes.py              frames of several films, side by side
    events.py             what happened in a step, as a sentence
    policies.py           the policies that a menu offers, and new ones of a class
    menu.py               the menu of policies
    plan_lines.py         the source of a policy's `plan`, and the lines that admitted requests
    playground_panels.py  the panels of the playground
    playground_traffic.py its requests
    widget_templates.py   the HTML templates of all widgets

A control is loaded when it is first used: films and frames need neither ipywidgets nor a notebook.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .block_map import BlockMap
    from .kernel_stepper import KernelStepper
    from .memory_player import MemoryPlayer
    from .player import EnginePlayer
    from .playground import Playground
    from .race import EngineRace
    from .slide import Slide
    from .watching import Answers, watch
    from .window_slider import WindowSlider

_HOMES = {
    "Answers": "watching",
    "BlockMap": "block_map",
    "EnginePlayer": "player",
    "EngineRace": "race",
    "KernelStepper": "kernel_stepper",
    "MemoryPlayer": "memory_player",
    "Playground": "playground",
    "Slide": "slide",
    "WindowSlider": "window_slider",
    "watch": "watching",
}
__all__ = [
    "Answers",
    "BlockMap",
    "EnginePlayer",
    "EngineRace",
    "KernelStepper",
    "MemoryPlayer",
    "Playground",
    "Slide",
    "WindowSlider",
    "watch",
]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
