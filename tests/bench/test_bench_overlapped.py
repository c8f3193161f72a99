"""`bench overlap`: both engines take turns, and the gain is the median of the rounds' ratios."""

from minibatch.bench import command, overlapped


def test_the_gain_is_the_median_of_the_rounds(monkeypatch, capsys):
    rounds = iter([9.0, 9.0, 2.0, 1.0, 3.0, 2.0, 8.0, 2.0])  # the first two are not counted
    turns = []

    def run(engine, workload):
        turns.append(engine)
        return next(rounds)

    monkeypatch.setattr(overlapped, "run", run)
    assert command.main(["overlap", "--rounds", "3"]) == 0
    said = capsys.readouterr().out
    assert "no overlap   3.00 s\noverlap      2.00 s\n" in said
    assert "speedup 2.00, median of 3 rounds (1.50–4.00)" in said
    assert turns == turns[:2] * 4
    assert turns[0] is not turns[1]
