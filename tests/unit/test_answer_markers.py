"""Which brackets of a sentence are citations?"""

import pytest

from vademecum.answer.markers import read_markers

SOURCES = range(1, 6)


@pytest.mark.parametrize(
    ("sentence", "text", "markers"),
    [
        ("Yes [1].", "Yes.", (1,)),
        ("Yes. [1]", "Yes.", (1,)),
        ("Yes [1][2].", "Yes.", (1, 2)),
        ("Yes [1, 2].", "Yes.", (1, 2)),
        ("Yes [2-4].", "Yes.", (2, 3, 4)),
        ("Yes [2–3].", "Yes.", (2, 3)),
        ("Yes [[4]].", "Yes.", (4,)),
        ("Yes [1，2].", "Yes.", (1, 2)),
        ("Yes [1][1].", "Yes.", (1,)),
        ("Yes [ 3 ].", "Yes.", (3,)),
        ("See [1] for it [2].", "See for it.", (1, 2)),
        ("(as in [1])", "(as in)", (1,)),
        ("It takes 5 days[1].", "It takes 5 days.", (1,)),
        ("退款需要5天[2]。", "退款需要5天。", (2,)),
        ("A [note] stays.", "A [note] stays.", ()),
        ("In [2024] it opened.", "In [2024] it opened.", ()),
        ("Use arr[0] here.", "Use arr[0] here.", ()),
        ("Use arr[9] here.", "Use arr[9] here.", ()),
        ("Use `arr[1]` here [2].", "Use `arr[1]` here.", (2,)),
        ("Invented [9].", "Invented.", (9,)),
        ('It says "as shown in [12]" [1].', 'It says "as shown in [12]".', (1,)),
        ('It says "refunds take 5 days [1]".', 'It says "refunds take 5 days".', (1,)),
        ("Huge [1-900].", "Huge.", tuple(range(1, 22))),
        ("[1]", "", (1,)),
    ],
)
def test_forms(sentence: str, text: str, markers: tuple[int, ...]) -> None:
    claim = read_markers(sentence, SOURCES)
    assert (claim.text, claim.markers) == (text, markers)
