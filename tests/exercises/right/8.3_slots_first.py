"""Makes all slots of a prompt first, and cuts them up."""


def chunks_and_slots(
    num_prompt_tokens, num_computed, block_tables, num_decodes, max_batch_tokens, block_size
):
    slots = [
        [block * block_size + i for block in table for i in range(block_size)][:length]
        for table, length in zip(block_tables, num_prompt_tokens, strict=True)
    ]
    at, decodes, steps = tuple(num_computed), num_decodes, []
    while decodes < num_decodes + len(at):
        left, now, chunks = max_batch_tokens - decodes, [], ()
        for i, (begin, its) in enumerate(zip(at, slots, strict=True)):
            chunk = its[begin : begin + left]
            left -= len(chunk)
            now.append(begin + len(chunk))
            chunks += ((i, begin, now[-1], chunk),) if chunk else ()
        at = tuple(now)
        decodes = num_decodes + sum(a == len(its) for a, its in zip(at, slots, strict=True))
        steps.append(chunks)
    return steps
