"""The head picture of lesson 13."""

from matplotlib.figure import Figure

import minibatch as mb


def more_than_one_engine() -> Figure:
    """A fleet behind a router that weighs caches and load. What others do is for the lesson."""
    requests = mb.fleet.sessions(20.0, 400, num_manuals=12, manual_tokens=3_000, pause_s=8.0)
    machine = mb.presets.Preset(mb.presets.LLAMA_3_70B, mb.presets.A100_80, num_gpus=4)
    router = mb.routers.LeastUncachedTokens()
    policy, options = mb.Continuous(16), {"num_blocks": 1_500, "prefix_caching": True}
    figure = mb.plots.replica_loads(mb.Fleet(policy, machine, 4, router, **options).run(requests))
    figure.suptitle("")
    titles = (
        "Requests at each of four replicas; router: least uncached tokens",
        "Requests, % cached",
    )
    for axis, title in zip(figure.axes, titles, strict=True):
        axis.set_title(title, loc="left", fontsize=15)
    return figure
