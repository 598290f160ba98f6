"""Does a change pay? One command: `python examples/bookshop/compare.py --set search.fusion=rrf`.
Without a word behind it, it shows what finding by words alone would lose.

It brings the bookshop's documents in, runs the golden set as things are and once more with what is
set, and prints the table of before and after. `vade` must be installed; VADE_HOME says where its
data goes.
"""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
VADE = [sys.executable, "-c", "from vademecum.cli.main import run; run()"]
COLLECTION = "bookshop"
CHANGE = ["--set", "search.dense_weight=0", "--set", "models.reranker="]


def vade(*words: str) -> None:
    """Run one command, and end with it where it fails. A gate that fails is a result here."""
    done = subprocess.run([*VADE, *words], check=False)
    if done.returncode not in (0, 1):
        sys.exit(done.returncode)


def main() -> None:
    change = sys.argv[1:] or CHANGE
    golden = str(HERE / "golden.toml")
    vade("ingest", str(HERE / "documents"), "-c", COLLECTION)
    print("\n--- before")
    vade("eval", "run", golden, "-c", COLLECTION)
    print(f"\n--- after {' '.join(change)}")
    vade("eval", "run", golden, "-c", COLLECTION, *change)
    print("\n--- before and after")
    vade("eval", "compare", "previous", "latest")


if __name__ == "__main__":
    main()
