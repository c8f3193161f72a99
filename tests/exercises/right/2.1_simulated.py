"""Plays it step by step."""


def padding_share(output_lengths, max_batch_size):
    queue, padding, all_ = list(output_lengths)[::-1], 0, 0
    while queue:
        left = [queue.pop() for _ in range(max_batch_size) if queue]
        while any(left):
            for i, n in enumerate(left):
                all_ += 1
                padding += n == 0
                left[i] = max(0, n - 1)
    return padding / all_
