"""Last is what the other first sizes leave of the whole speed-up.

caught by: test_a_factor_has_another_size_at_the_other_end
code: last_is_what_is_left
"""


def first_and_last(throughput):
    base = throughput[()]
    first = {key[0]: speed / base for key, speed in throughput.items() if len(key) == 1}
    whole = throughput[max(throughput, key=len)] / base
    out = {}
    for name in first:
        others = 1.0
        for n, size in first.items():
            if n != name:
                others *= size
        out[name] = (first[name], whole / others)
    return out
