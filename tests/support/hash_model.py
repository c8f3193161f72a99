"""A model without tensors whose tokens show what each row attended to.

Its "K and V" of a token are one number: a checksum of the token and of all that its row reads
before it, through the block table. The next token is a checksum, too. So an answer differs from the
one that its request gets alone if a token was not computed, or was overwritten by another row. It
needs no torch, whose import takes seconds.
"""

from zlib import crc32

from minibatch.simulator.pretend import PretendModel

VOCAB_SIZE = 128


class HashModel(PretendModel):
    vocab_size = VOCAB_SIZE
    max_model_len = 256

    def runner(self, pool, attention):
        return HashRunner(pool.block_size)


class HashRunner:
    def __init__(self, block_size):
        self.block_size, self.kv = block_size, {}  # by block and place in it

    def run(self, plan):
        rows = [row for row in plan.rows if row.num_tokens]
        for row in rows:  # all K and V are written before a row's last token attends to them
            state, places = self.read(row, row.start), self.places(row)
            tokens = row.sequence.token_ids[row.start : row.seq_len]
            for place, token in zip(places[row.start :], tokens, strict=False):
                self.kv[place] = after(state, token)
                state = after(state, self.kv[place])
        return [
            [self.read(row, row.seq_len) % VOCAB_SIZE] if row.reaches_end else []
            for row in plan.rows
        ]

    def places(self, row):
        table, size = row.sequence.block_table, self.block_size
        return [(table[p // size], p % size) for p in range(row.seq_len)]

    def read(self, row, num_tokens):
        """A checksum of the K and V of the row's first tokens; of none: 0."""
        state = 0
        for place in self.places(row)[:num_tokens]:
            state = after(state, self.kv.get(place))
        return state


def after(state, value):
    return crc32(repr((state, value)).encode())


def alone(prompt, num_tokens):
    """The answer to a prompt that has a cache to itself."""
    tokens, state = list(prompt), 0
    for i in range(len(prompt) + num_tokens):
        if i >= len(prompt):
            tokens.append(state % VOCAB_SIZE)
        state = after(state, after(state, tokens[i]))
    return tokens[len(prompt) :]
