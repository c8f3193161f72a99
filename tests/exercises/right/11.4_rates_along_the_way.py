"""All rates on the way first; then neighbours are divided. Sets for keys."""


def take_apart(throughput, order):
    rates = [throughput[tuple(sorted(order[:n]))] for n in range(len(order) + 1)]
    return tuple(after / before for before, after in zip(rates, rates[1:], strict=False))


def first_and_last(throughput):
    runs = {frozenset(on): rate for on, rate in throughput.items()}
    names = frozenset().union(*runs)
    return {
        name: [runs[frozenset([name])] / runs[frozenset()], runs[names] / runs[names - {name}]]
        for name in sorted(names, reverse=True)
    }
