"""Deals out one token after the other."""


def chunks_and_slots(
    num_prompt_tokens, num_computed, block_tables, num_decodes, max_batch_tokens, block_size
):
    at, steps = list(num_computed), []
    lengths = num_prompt_tokens
    while any(at[i] < lengths[i] for i in range(len(at))):
        room = max_batch_tokens - num_decodes - sum(at[i] == lengths[i] for i in range(len(at)))
        chunks = {}
        for _ in range(room):
            i = next((i for i in range(len(at)) if at[i] < lengths[i]), None)
            if i is not None:
                block, offset = divmod(at[i], block_size)
                chunks.setdefault(i, []).append(
                    (at[i], block_tables[i][block] * block_size + offset)
                )
                at[i] += 1
        steps.append(
            [(i, c[0][0], c[-1][0] + 1, [slot for _, slot in c]) for i, c in chunks.items()]
        )
    return steps
