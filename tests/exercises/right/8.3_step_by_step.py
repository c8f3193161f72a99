"""Plays the steps one after the other, and counts who is done."""


def chunks_and_slots(
    num_prompt_tokens, num_computed, block_tables, num_decodes, max_batch_tokens, block_size
):
    at, steps = list(num_computed), []
    while at != list(num_prompt_tokens):
        done = sum(a == n for a, n in zip(at, num_prompt_tokens, strict=True))
        left, chunks = max_batch_tokens - num_decodes - done, []
        for i, n in enumerate(num_prompt_tokens):
            begin, end = at[i], min(n, at[i] + left)
            if begin < end:
                table = block_tables[i]
                slots = [
                    table[p // block_size] * block_size + p % block_size for p in range(begin, end)
                ]
                chunks.append((i, begin, end, slots))
                left -= end - begin
                at[i] = end
        steps.append(chunks)
    return steps
