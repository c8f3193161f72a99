"""Lists the times of all tokens."""

import math


def split_or_not(request, together, apart, slo):
    if not apart["gbit_per_s"] > 0:
        raise ValueError("no bandwidth")
    n = request["answer"]
    first = (together["queue"] + request["prompt"]) / together["tokens_per_s"]
    slow = together["prefill_share"] * (n - 1)
    last = first + slow * together["itl_beside_prefill_s"] + (n - 1 - slow) * together["itl_s"]
    first_apart = (apart["queue"] + request["prompt"]) / apart["tokens_per_s"]
    sent = request["prompt"] * apart["kv_bytes_per_token"] / (apart["gbit_per_s"] / 8 * 1e9)
    begin = first_apart + sent + apart["latency_s"]
    if apart["first_token_from"] == "decode":
        first_apart = begin
    last_apart = begin + (n - 1) * apart["itl_s"]
    tpot = (last - first) / (n - 1) if n > 1 else None
    tpot_apart = (last_apart - first_apart) / (n - 1) if n > 1 else None
    used = max(first / slo["ttft_s"], (tpot or 0) / slo["tpot_s"])
    used_apart = max(first_apart / slo["ttft_s"], (tpot_apart or 0) / slo["tpot_s"])
    split = used_apart < used and not math.isclose(used_apart, used, rel_tol=1e-9)
    return {
        "split": split,
        "together": [first, tpot],
        "apart": [first_apart, tpot_apart],
    }
