"""Does each document get the chunker that the rules and the person asked for?"""

import pytest

from vademecum.adapters.chunkers.choose import TYPE_NAMES, ChunkingRule, ChunkingRules
from vademecum.errors import InvalidSetting

PDF, CSV = "application/pdf", "text/csv"
RULES = ChunkingRules(
    ChunkingRule(),
    window=400,
    collections={"faq": ChunkingRule(size=100)},
    types={"csv": ChunkingRule(strategy="recursive"), "pdf": ChunkingRule(size=300)},
)


@pytest.mark.parametrize(
    ("collection", "media_type", "asked", "fingerprint"),
    [
        ("default", "text/plain", None, "structure-2/200"),
        ("faq", "text/plain", None, "structure-2/100"),
        ("faq", CSV, None, "recursive-1/100"),
        ("faq", PDF, None, "structure-2/300"),
        ("default", CSV, None, "recursive-1/200"),
        ("default", CSV, "structure", "structure-2/200"),
        ("default", "application/of-no-name", "recursive", "recursive-1/200"),
        ("faq", "text/plain", "fixed", "fixed-1/100/18"),
        ("default", "text/plain", "fixed", "fixed-1/400/75"),
        ("default", "text/plain", "semantic", "semantic-1/200"),
        ("faq", PDF, "semantic", "semantic-1/300"),
        ("default", "text/plain", "parent", "parent-1/100/400/structure-2/100"),
        ("default", PDF, "parent", "parent-1/300/1200/structure-2/300"),
    ],
)
def test_the_special_rule_goes_before_the_general_one(
    collection: str, media_type: str, asked: str | None, fingerprint: str
) -> None:
    assert RULES.choose(collection, media_type, asked).fingerprint == fingerprint


def test_a_size_that_the_embedder_cannot_take_is_brought_down_and_said() -> None:
    fixed = RULES.choose("default", "text/plain", "fixed")
    assert fixed.notes == ("chunks of 800 tokens were asked for; the embedding model takes 400",)
    assert RULES.choose("faq", "text/plain", "fixed").notes == ()
    wide = ChunkingRules(ChunkingRule(strategy="fixed"), window=8000)
    assert wide.choose("default", PDF).fingerprint == "fixed-1/800/150"
    assert wide.choose("default", PDF).notes == ()
    large = ChunkingRule(strategy="fixed", size=1000, overlap=600)
    assert ChunkingRules(large, window=100).choose("a", PDF).fingerprint == "fixed-1/100/60"


def test_a_fingerprint_changes_with_every_rule_that_may_divide_otherwise() -> None:
    def fingerprint(collection: str = "faq", **types: ChunkingRule) -> str:
        rules = ChunkingRules(
            ChunkingRule(),
            window=400,
            collections={"faq": ChunkingRule(size=100)},
            types=types,
        )
        return rules.fingerprint(collection)

    assert fingerprint() == "structure-2/100"
    assert fingerprint("other") == "structure-2/200"
    assert fingerprint(csv=ChunkingRule(size=50)) == "structure-2/100;csv=structure-2/50"
    assert fingerprint(csv=ChunkingRule(size=100)) == "structure-2/100"
    assert RULES.fingerprint("faq", "fixed") == "fixed-1/100/18;pdf=fixed-1/300/56"


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"default": ChunkingRule(strategy="round")}, "There is no chunker round"),
        ({"default": ChunkingRule(strategy="parent", size=100, section=99)}, r"section is 99"),
        ({"default": ChunkingRule(size=7)}, r"chunking\.size is 7"),
        ({"types": {"csv": ChunkingRule(size=-1)}}, r"chunking\.types\.csv\.size is -1"),
        ({"types": {"word": ChunkingRule()}}, r"chunking\.types\.word names no document type"),
        ({"collections": {"a": ChunkingRule(overlap=200)}}, r"chunking\.collections\.a\.overlap"),
    ],
)
def test_a_rule_that_cannot_be_is_refused_when_it_is_read(
    rules: dict[str, object], message: str
) -> None:
    with pytest.raises(InvalidSetting, match=message):
        ChunkingRules(**{"default": ChunkingRule(size=200), "window": 400, **rules})  # type: ignore[arg-type]


def test_an_asked_chunker_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InvalidSetting, match="no chunker round"):
        RULES.choose("default", PDF, "round")


def test_each_type_has_one_plain_name() -> None:
    assert all(name.isalnum() and name.islower() for name in TYPE_NAMES.values())
