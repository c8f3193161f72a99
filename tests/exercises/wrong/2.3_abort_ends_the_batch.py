"""Whoever is given up takes the whole batch along.

caught by: test_a_batch_ends_also_with_a_member_that_is_given_up
code: stands_nowhere
"""


class MyStatic(MyStatic):  # noqa: F821
    def abort(self, sequence):
        super().abort(sequence)
        for member in list(self.running):
            self.release(member)
