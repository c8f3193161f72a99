"""NumPy's percentiles, by the method that takes measured values; tuples and floats."""

import numpy as np


def metrics(rows, slo_ttft_ms, slo_tpot_ms, duration_ms):
    def percentile(values, p):
        return float(np.percentile(values, p, method="inverted_cdf")) if len(values) else None

    tpot = tuple(float(np.diff(times).mean()) if len(times) > 1 else None for _, times, _ in rows)
    good = [
        ending == "served" and times[0] - arrival <= slo_ttft_ms and (one or 0) <= slo_tpot_ms
        for one, (arrival, times, ending) in zip(tpot, rows, strict=True)
    ]
    ttft = [times[0] - arrival for arrival, times, _ in rows if times]
    gaps = np.concatenate([np.diff(times) for _, times, _ in rows])
    return {
        "goodput": sum(good) / duration_ms * 1000,
        "attainment": float(np.mean(good)),
        "ttft_p50": percentile(ttft, 50),
        "ttft_p99": percentile(ttft, 99),
        "itl_p99": percentile(gaps, 99),
        "tpot": tpot,
    }
