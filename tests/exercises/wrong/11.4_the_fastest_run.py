"""Takes the fastest run for the one with all factors.

caught by: test_a_factor_has_another_size_at_the_other_end
code: fastest_run_for_all
"""


def first_and_last(throughput):
    everything = max(throughput, key=throughput.get)
    return {
        name: (
            throughput[(name,)] / throughput[()],
            throughput[everything] / throughput[tuple(n for n in everything if n != name)],
        )
        for name in everything
    }
