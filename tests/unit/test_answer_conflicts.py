"""Are sources that disagree told from those that speak of something else?"""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from vademecum.answer.cite import citation
from vademecum.answer.conflicts import conflicts
from vademecum.model.answer import Checked, Conflict, Sentence, Support
from vademecum.model.passage import Passage
from vademecum.testing.passages import make_passage


def told(passage: Passage, language: str) -> Passage:
    chunk = replace(passage.source.chunk, language=language)
    return replace(passage, source=replace(passage.source, chunk=chunk))


def against(
    said: str,
    other: str,
    *,
    titles: tuple[str, str] = ("Rules", "Frequently asked questions"),
    language: str = "en",
    support: Support = "supported",
) -> tuple[Conflict, ...]:
    own = told(make_passage(said, uri="own", title=titles[0]), language)
    far = told(make_passage(other, rank=2, uri="other", title=titles[1]), language)
    cited = citation(1, own, 0, len(said), support=support)
    checked = Checked(
        mode="extractive",
        sentence=Sentence(text=said, markers=(1,), support=support),
        citations=(cited,),
    )
    return conflicts([checked], [own, far])


@pytest.mark.parametrize(
    ("said", "other", "kind", "language"),
    [
        ("Cameras with a lens of up to 200 mm are allowed inside.",
         "Yes. Cameras with a lens of up to 100 mm are allowed inside.", "number", "en"),
        ("The box office opens at 9:00 on show days.",
         "Box office: on show days it opens at 10:30.", "number", "en"),
        ("Tickets can be returned until 14 days before the show.",
         "Tickets can be returned until 7 days before the show.", "number", "en"),
        ("Refund requests for the festival close on 3 May 2026.",
         "Refund requests for the festival close on 10 May 2026.", "date", "en"),
        ("Small umbrellas are allowed in the stands.",
         "Small umbrellas are not allowed in the stands.", "denial", "en"),
        ("São permitidas câmeras com lente de até 200 mm no setor C.",
         "No setor C são permitidas câmeras com lente de até 100 mm.", "number", "pt"),
        ("As entradas podem ser devolvidas até 14 dias antes do show.",
         "As entradas podem ser devolvidas até 7 dias antes do show.", "number", "pt"),
        ("Se permiten paraguas pequeños en las gradas.",
         "No se permiten paraguas pequeños en las gradas.", "denial", "es"),
    ],
)  # fmt: skip
def test_what_says_otherwise(said: str, other: str, kind: str, language: str) -> None:
    (found,) = against(said, other, language=language)
    assert (found.sentence, found.kind, found.other.uri) == (0, kind, "other")
    assert found.other.quote in other
    assert found.other.marker == 1


@pytest.mark.parametrize(
    ("said", "other"),
    [
        # The same, in other words or with another number beside it.
        ("Cameras with a lens of up to 200 mm are allowed inside.",
         "Inside, cameras with a lens of up to 200 mm are allowed; tripods up to 30 cm too."),
        ("Small umbrellas are allowed in the stands.", "In the stands small umbrellas are allowed."),
        # Another thing that the number is said of.
        ("Cameras with a lens of up to 200 mm are allowed inside.",
         "Bags of up to 30 cm are allowed inside."),
        ("The box office opens at 9:00 on show days.", "The gates open at 18:00 on show days."),
        # Another place, named in the sentence.
        ("Cameras with a lens of up to 200 mm are allowed in Arena Norte.",
         "Cameras with a lens of up to 100 mm are allowed in Hall Sul."),
        ("In Arena Norte the step-free entrance is gate 4.",
         "In Arena Sul the step-free entrance is gate 9."),
        # A special case.
        ("Tickets can be returned until 14 days before the show.",
         "Members of the supporters' club return tickets with a voucher until 7 days before it."),
        # Nothing but a number in common.
        ("The hall was built in 1998 by the city.", "The hall was closed in 2004 for repairs."),
    ],
)  # fmt: skip
def test_what_does_not(said: str, other: str) -> None:
    assert against(said, other) == ()


def test_documents_on_two_places_do_not_disagree() -> None:
    said, other = "Lenses of up to 200 mm are allowed.", "Lenses of up to 100 mm are allowed."
    assert against(said, other, titles=("Arena Norte rules", "Hall Sul rules")) == ()
    assert against(said, other, titles=("Arena Norte rules 2026", "Arena Norte rules 2025"))


def test_only_what_is_supported_is_compared_and_only_in_its_language() -> None:
    said, other = "Lenses of up to 200 mm are allowed.", "Lenses of up to 100 mm are allowed."
    assert against(said, other)
    assert against(said, other, support="partly") == ()
    own = make_passage(said, uri="own")
    far = told(make_passage(other, rank=2, uri="other"), "de")
    cited = citation(1, own, 0, len(said), support="supported")
    sentence = Sentence(text=said, markers=(1,), support="supported")
    checked = Checked(mode="extractive", sentence=sentence, citations=(cited,))
    assert conflicts([checked], [own, far]) == ()


def test_each_side_has_its_day() -> None:
    said, other = "Lenses of up to 200 mm are allowed.", "Lenses of up to 100 mm are allowed."
    own = make_passage(said, uri="own")
    far = make_passage(other, rank=2, uri="other")
    day = datetime(2024, 5, 1, tzinfo=UTC)
    far = replace(far, source=replace(far.source, since=day))
    cited = citation(1, own, 0, len(said), support="supported")
    sentence = Sentence(text=said, markers=(1,), support="supported")
    checked = Checked(mode="extractive", sentence=sentence, citations=(cited,))
    (found,) = conflicts([checked], [own, far])
    assert (found.since, found.other_since) == (own.source.since, day)
