"""How near is each of some texts to a query, that no index knows?"""

from collections.abc import Sequence

from vademecum.model.embedding import FloatArray
from vademecum.ports.embedder import TokenEncoder, Tokenizer
from vademecum.rank.maxsim import maxsim, normalised
from vademecum.text.language import detect


async def relevance(
    encoder: TokenEncoder, tokenizer: Tokenizer, most: int, query: str, texts: Sequence[str]
) -> list[float]:
    """Return one score in 0..1 a text, in their order: the weighted mean over the query's tokens of
    the best cosine with a token of the text (MaxSim), below 0 as 0.

    Texts longer than `most` tokens are read as far as that; blank ones get 0.
    """
    readable = [cut(tokenizer, text, most) for text in texts]
    wanted = [place for place, text in enumerate(readable) if text.strip()]
    scores = [0.0] * len(texts)
    if not wanted or not query.strip():
        return scores
    [asked] = await encoder.encode([query], "query")
    states = await encoder.encode([readable[place] for place in wanted], "passage")
    own: FloatArray = normalised(asked.states, encoder.centre(detect(query)))
    for place, passage in zip(wanted, states, strict=True):
        rows = normalised(passage.states, encoder.centre(detect(readable[place])))
        scores[place] = max(0.0, maxsim(own, rows, asked.weights))
    return scores


def cut(tokenizer: Tokenizer, text: str, most: int) -> str:
    """Return as much of a text as has `most` tokens."""
    ends = tokenizer.ends(text)
    return text if len(ends) <= most else text[: ends[most - 1]]
