"""Sorts by lengths that nobody knows yet.

caught by: test_batches_are_formed_in_order
code: sorted_shortest_first
"""


def padding_share(output_lengths, max_batch_size):
    ordered = sorted(output_lengths)
    batches = [ordered[i : i + max_batch_size] for i in range(0, len(ordered), max_batch_size)]
    return 1 - sum(ordered) / sum(max(b) * len(b) for b in batches)
