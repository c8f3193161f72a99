"""Takes the prompt with least to compute first.

caught by: test_prompts_share_a_step_and_decode_when_they_are_done
code: shortest_first
"""


def chunks_and_slots(
    num_prompt_tokens, num_computed, block_tables, num_decodes, max_batch_tokens, block_size
):
    at, steps = list(num_computed), []
    while at != list(num_prompt_tokens):
        done = sum(a == n for a, n in zip(at, num_prompt_tokens, strict=True))
        left, chunks = max_batch_tokens - num_decodes - done, []
        order = sorted(range(len(at)), key=lambda i: num_prompt_tokens[i] - at[i])
        for i in order:
            n = num_prompt_tokens[i]
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
