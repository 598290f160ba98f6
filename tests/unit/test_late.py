"""Is a pattern that is made late the pattern that it would have been?"""

import gc
import importlib
import pkgutil

import pytest
import regex

import vademecum.answer
import vademecum.memory
import vademecum.text
from vademecum.text.late import _Late, late, warm


def test_it_finds_what_the_pattern_itself_finds() -> None:
    words = ["gate", "door"]
    own, other = (
        late(r"\L<words>s?", regex.IGNORECASE, words=words),
        regex.compile(r"\L<words>s?", regex.IGNORECASE, words=words),
    )
    text = "The GATES and a door"
    for _ in range(2):  # the second time without making it
        assert own.findall(text) == other.findall(text) == ["GATES", "door"]
        assert [m.span() for m in own.finditer(text)] == [m.span() for m in other.finditer(text)]
        assert own.sub("x", text) == "The x and a x"
        assert own.fullmatch("doors") is not None
        assert own.match(text, 4) is not None
        assert (own.pattern, own.flags, own.groups) == (other.pattern, other.flags, other.groups)


def test_nothing_is_made_before_it_is_asked() -> None:
    broken = late("(")
    with pytest.raises(regex.error):
        broken.search("x")
    with pytest.raises(regex.error):
        warm()


def test_a_process_that_lives_on_makes_all_of_them() -> None:
    patterns = [late("a"), late("b")]
    assert not any("search" in vars(pattern) for pattern in patterns)
    warm()
    assert all("search" in vars(pattern) for pattern in patterns)
    warm()  # nothing is left to make


def test_every_late_pattern_of_ours_is_a_pattern() -> None:
    for package in (vademecum.text, vademecum.answer, vademecum.memory):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    made = [one for one in gc.get_objects() if type(one) is _Late]
    assert len(made) > 200
    assert all(isinstance(one.pattern, str) for one in made if one._made_of[0] != "(")
