"""Is the best split found, piece by piece?"""

from pathlib import Path

import numpy as np
import pytest

from vademecum.adapters.embedders.e5_pieces import PieceTable, write_pieces
from vademecum.adapters.embedders.e5_tokenizer import hide_special

SCORES = {
    "<s>": 0.0,
    "<pad>": 0.0,
    "</s>": 0.0,
    "<unk>": 0.0,
    "a": -2.0,
    "b": -2.0,
    "ab": -3.0,
    "abc": -9.0,
    "bc": -6.0,
    "c": -4.0,
    "<": -5.0,
    "s": -5.0,
    ">": -5.0,
}
NAMES = list(SCORES)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> PieceTable:
    path = tmp_path_factory.mktemp("pieces") / "pieces.npy"
    write_pieces(hide_special(NAMES), list(SCORES.values()), path)
    return PieceTable.load(path)


@pytest.mark.parametrize(
    ("text", "pieces", "ends"),
    [
        ("", [], []),
        ("a", ["a"], [1]),
        # ab -3 beats a + b -4; ab + c -7 beats abc -9.
        ("abc", ["ab", "c"], [2, 3]),
        # bc -6 equals b + c: the split that was found first stays.
        ("bc", ["bc"], [2]),
        ("bab", ["b", "ab"], [1, 3]),
        # Unknown letters side by side are one token.
        ("axyzb", ["a", "<unk>", "b"], [1, 4, 5]),
        ("☃", ["<unk>"], [1]),
        # A special token's name is plain letters.
        ("<s>", ["<", "s", ">"], [1, 2, 3]),
    ],
)
def test_the_split_with_the_best_score(
    table: PieceTable, text: str, pieces: list[str], ends: list[int]
) -> None:
    ids, found = table.split(text)
    assert [NAMES[number] for number in ids] == pieces
    assert found == ends


def test_pieces_that_share_a_hash_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="hash"):
        write_pieces(["a", "a"], [0.0, 0.0], tmp_path / "pieces.npy")


def test_another_array_is_no_table(tmp_path: Path) -> None:
    np.save(tmp_path / "other.npy", np.zeros(3))
    with pytest.raises(ValueError, match="table"):
        PieceTable.load(tmp_path / "other.npy")
