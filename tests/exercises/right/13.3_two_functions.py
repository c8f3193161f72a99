"""A function for each way."""


def split_or_not(request, together, apart, slo):
    gaps = request["answer"] - 1
    if apart["gbit_per_s"] <= 0:
        raise ValueError

    def way(of, gap):
        ttft = (of["queue"] + request["prompt"]) / of["tokens_per_s"]
        return ttft, gap if gaps else None

    share = together["prefill_share"]
    mixed = together["itl_s"] + share * (together["itl_beside_prefill_s"] - together["itl_s"])
    seconds = request["prompt"] * apart["kv_bytes_per_token"] * 8e-9 / apart["gbit_per_s"]
    before, after = seconds + apart["latency_s"], 0
    if apart["first_token_from"] == "prefill":
        before, after = after, before
    ttft, tpot = way(apart, apart["itl_s"] + after / max(gaps, 1))
    times = {"together": way(together, mixed), "apart": (ttft + before, tpot)}
    used = {
        name: sorted((ttft / slo["ttft_s"], 0 if tpot is None else tpot / slo["tpot_s"]))[-1]
        for name, (ttft, tpot) in times.items()
    }
    return {"split": used["together"] > used["apart"], **times}
