"""Run a fuzzer over one target: `python tools/fuzz.py NAME [-max_total_time=60 …]`.

Names are those of `fuzz_targets.TARGETS`; what follows goes to libFuzzer. Needs the package
`atheris`. A found input is written to the working folder, its path printed.
"""

import sys
from pathlib import Path

import atheris


def main() -> None:
    """Instrument our code while it is imported, then make up inputs until the time is over."""
    sys.path.insert(0, str(Path(__file__).parent))
    with atheris.instrument_imports(include=["vademecum", "fuzz_targets"]):
        from fuzz_targets import TARGETS  # noqa: PLC0415  # instrumented as it is imported
    name, *options = sys.argv[1:]
    defaults = ["-max_len=2000", "-len_control=5", "-timeout=20", "-rss_limit_mb=2000"]
    atheris.Setup([sys.argv[0], *defaults, *options], TARGETS[name])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
