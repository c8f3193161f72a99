"""For each ended request, the steps that it waits for."""


class Releases:
    def __init__(self):
        self.rows, self.left = [], []

    def launched(self, step, requests):
        self.rows.append((step, set(requests)))

    def ended(self, request, blocks):
        steps = {step for step, names in self.rows if request in names}
        for _, names in self.rows:
            names.discard(request)
        if not steps:
            return list(blocks)
        self.left.append((steps, tuple(blocks)))
        return []

    def collected(self, step):
        self.rows = [one for one in self.rows if one[0] != step]
        for steps, _ in self.left:
            steps.discard(step)
        free = [block for steps, blocks in self.left if not steps for block in blocks]
        self.left = [one for one in self.left if one[0]]
        return free
