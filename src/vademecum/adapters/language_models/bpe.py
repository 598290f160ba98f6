"""How many tokens will a prompt have?"""

import warnings
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bpe_openai import Encoding

# The library refuses longer texts; the sum over parts is at most a token a part too high.
_MOST_LETTERS = 100_000


@cache
def _encoding() -> "Encoding":
    # The tables take over a second and 130 MB to load, which only generated answers need.
    with warnings.catch_warnings():
        # The library reads its tables through a function that Python 3.11 and 3.12 frown upon.
        warnings.simplefilter("ignore", DeprecationWarning)
        from bpe_openai import get_encoding

        return get_encoding("o200k_base")


class BpeCounter:
    """TokenCounter with the o200k_base table: exact for many models, a near estimate for others.

    Text that spells a special token (`<|endoftext|>`) counts as the plain text that it is.
    """

    def count(self, text: str) -> int:
        parts = (text[at : at + _MOST_LETTERS] for at in range(0, len(text), _MOST_LETTERS))
        return sum(len(_encoding().encode_ordinary(part)) for part in parts)
