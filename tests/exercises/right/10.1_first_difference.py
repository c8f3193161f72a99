"""Looks for the first difference instead of counting what agrees."""


def accept(draft, own, num_tokens, block_table, block_size):
    pairs = enumerate(zip(draft, own, strict=False))
    right = next((i for i, (guess, choice) in pairs if guess != choice), len(draft))
    stays = [i for i in range(len(block_table)) if i * block_size < num_tokens + right]
    return draft[:right] + [own[right]], num_tokens + right, block_table[len(stays) :]
