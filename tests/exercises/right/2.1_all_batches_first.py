"""Cuts the list into all of its batches, and then adds up."""


def padding_share(output_lengths, max_batch_size):
    batches = [
        output_lengths[i : i + max_batch_size]
        for i in range(0, len(output_lengths), max_batch_size)
    ]
    return 1 - sum(output_lengths) / sum(max(b) * len(b) for b in batches)
