"""One walk over the rows, with totals."""


def metrics(rows, slo_ttft_ms, slo_tpot_ms, duration_ms):
    first, gaps, tpots, met = [], [], [], 0
    for arrival, times, ending in rows:
        tpot = None
        if times:
            first.append(times[0] - arrival)
        for i in range(1, len(times)):
            gaps.append(times[i] - times[i - 1])
        if len(times) >= 2:
            tpot = (times[-1] - times[0]) / (len(times) - 1)
        tpots.append(tpot)
        if ending == "served" and first[-1] <= slo_ttft_ms:
            met += tpot is None or tpot <= slo_tpot_ms
    first.sort()
    gaps.sort()

    def rank(values, p):
        for place, value in enumerate(values, 1):
            if 100 * place >= p * len(values):
                return value

    return {
        "ttft_p50": rank(first, 50),
        "ttft_p99": rank(first, 99),
        "tpot": tpots,
        "itl_p99": rank(gaps, 99),
        "attainment": met / len(rows),
        "goodput": met / (duration_ms / 1000),
    }
