"""What is told of two texts that differ?"""

import random
import time

from hypothesis import assume, given
from hypothesis import strategies as st

from vademecum.server.web.differences import MOST_LETTERS, Piece, compared, differences

TEXTS = st.text(alphabet="ab \n.é9", max_size=60)


def out(text: str) -> Piece:
    return Piece(text=text, changed=True)


def same(text: str) -> Piece:
    return Piece(text=text, changed=False)


def test_the_words_that_changed_stand_out_in_their_lines() -> None:
    found = differences(
        "Entry\n\nDoors open at nine.\nBags stay outside.",
        "Entry\n\nDoors open at ten thirty.\nBags stay outside.",
    )
    first, change, last = found.rows
    assert (first.kind, last.kind) == ("same", "same")
    assert change.before == (same("Doors open at "), out("nine"), same("."))
    assert change.after == (same("Doors open at "), out("ten thirty"), same("."))
    assert (found.taken_out, found.put_in, found.cut) == (1, 2, False)


def test_what_only_one_side_has_stands_alone() -> None:
    put_in = differences("a line\n", "a line\nanother line\n").rows[-1]
    assert (put_in.before, put_in.after) == ((), (out("another line"),))
    taken_out = differences("a line\nanother line\n", "a line\n").rows[-1]
    assert (taken_out.before, taken_out.after) == ((out("another line"),), ())


def test_equal_lines_far_from_a_change_are_counted_and_not_shown() -> None:
    lines = [f"line {number}" for number in range(20)]
    found = differences("\n".join(["x", *lines, "y"]), "\n".join(["z", *lines, "w"]))
    assert [row.kind for row in found.rows] == ["change", "same", "gap", "same", "change"]
    assert found.rows[2].lines == 16
    assert found.rows[1].before == (same("line 0\nline 1"),)
    assert found.rows[3].before == (same("line 18\nline 19"),)


def test_lines_with_nothing_in_common_are_told_whole() -> None:
    before, after = compared("The old hall is closed", "Tickets cost nine euros, in cash")
    assert before == (out("The old hall is closed"),)
    assert after == (out("Tickets cost nine euros, in cash"),)


def test_equal_texts_have_no_change() -> None:
    found = differences("one\ntwo", "one\ntwo")
    assert [(row.kind, row.lines) for row in found.rows] == [("gap", 2)]
    assert (found.taken_out, found.put_in) == (0, 0)


@given(before=TEXTS, after=TEXTS)
def test_both_sides_are_told_whole(before: str, after: str) -> None:
    """Nothing is lost and nothing is made up, but for the empty lines of a change."""
    rows = differences(before, after).rows
    assume(all(row.kind != "gap" for row in rows))
    for side, text in (("before", before), ("after", after)):
        told = ["".join(piece.text for piece in getattr(row, side)) for row in rows]
        lines = [line for part in told for line in part.split("\n")]
        assert [line for line in lines if line] == [line for line in text.splitlines() if line]


def test_long_texts_come_to_an_end_and_say_so() -> None:
    drawn = random.Random(4)
    texts = [
        "\n".join(str(drawn.randrange(200)) for _ in range(60_000)),
        "\n".join(drawn.choice("ab") for _ in range(60_000)),
        " ".join(drawn.choice("abcdefgh") for _ in range(100_000)),
        "x" * (MOST_LETTERS + 1),
    ]
    for text in texts:
        other = text[::-1] + "y"
        began = time.process_time()
        found = differences(text, other)
        assert time.process_time() - began < 5
        assert found.rows
        shown = sum(len(p.text) for row in found.rows for p in (*row.before, *row.after))
        assert shown <= 2 * MOST_LETTERS
        assert found.cut is (len(text) > MOST_LETTERS or shown < len(text))
