"""The head picture of lesson 13."""

from matplotlib.figure import Figure

import minibatch as mb


def more_than_one_engine() -> Figure:
    """A fleet whose router looks only at the caches. What others do is for the lesson."""
    requests = mb.fleet.sessions(20.0, 300, num_manuals=12, manual_tokens=3_000, question_tokens=60,
                                 answer_tokens=60, pause_s=8.0)  # fmt: skip
    machine = mb.presets.Preset(mb.presets.LLAMA_3_70B, mb.presets.A100_80, num_gpus=4)
    router = mb.routers.PrefixAffinity(queue=0, kv=0, most_apart=float("inf"))
    policy, options = mb.Continuous(16), {"num_blocks": 1_500, "prefix_caching": True}
    figure = mb.plots.replica_loads(mb.Fleet(policy, machine, 4, router, **options).run(requests))
    figure.suptitle("A router that looks only at caches: equal replicas, unequal load", x=0.01,
                    ha="left", fontsize=17)  # fmt: skip
    for words in figure.axes[1].texts:
        words.set_text(words.get_text().partition(",")[0])  # the lesson asks what is cached
    return figure
