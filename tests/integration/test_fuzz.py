"""Does our own code of readers and chunkers keep its promises under a fuzzer?"""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from fuzz_targets import TARGETS
from hypothesis import given, seed, settings
from hypothesis import strategies as st

SEED = 20260
SECONDS = 60
FUZZ = Path(__file__).parents[2] / "tools" / "fuzz.py"
PIECES = st.sampled_from(
    [
        *(bytes([byte]) for byte in b'\n\t #|->*`.[]{}:",0a\\'),
        *(
            text.encode()
            for text in ("票。", "नेपाली ", "👩\u200d👧", "\u0301", "\u200d", "🇧🇷", "।")
        ),
        *(
            b"\xff\x00",
            b"\xff\x02",
            b"\xff\x04",
            b"\xff\x48",
            b"\xff\x42",
            b"| a | b |\n",
            b"|---|---|\n",
        ),
        *(b"words of it ", b"```\n", b"\xc3", b"\xed\xa0\x80", b"\0", b"1. ", b"==\n"),
    ]
)
INPUTS = st.one_of(st.binary(max_size=400), st.lists(PIECES, max_size=150).map(b"".join))


def run(target: str, examples: int) -> None:
    @seed(SEED)
    @settings(max_examples=examples, deadline=None, database=None)
    @given(head=st.binary(min_size=2, max_size=2), data=INPUTS)
    def holds(head: bytes, data: bytes) -> None:
        TARGETS[target](head + data)

    holds()


@pytest.mark.parametrize("target", TARGETS)
def test_a_hundred_inputs(target: str) -> None:
    run(target, 100)


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_several_thousand_inputs(target: str) -> None:
    print(f"seed {SEED}")
    run(target, 5_000)


@pytest.mark.slow
@pytest.mark.skipif(find_spec("atheris") is None, reason="no fuzzer for this Python")
@pytest.mark.parametrize("target", TARGETS)
def test_a_minute_of_inputs_that_find_new_paths(target: str, tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, FUZZ, target, f"-max_total_time={SECONDS}", f"-seed={SEED}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=SECONDS * 4,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3_000:]
    print(ran.stderr.splitlines()[-1])
