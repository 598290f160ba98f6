"""Which words of a text carry its meaning, and which are forms of one word?"""

from functools import lru_cache

from vademecum.text.analyse import words
from vademecum.text.late import late

# Words that say little by themselves, folded: English, Portuguese, Spanish.
_LIGHT = frozenset(
    """
    a about after again all also am an and any are as at be been before being both but by can
    could did do does doing done during each every for from had has have he her him his
    how i if in into is it its just may me might more most must my no nor not of off on once one
    only or other our out over own per same she should so some such than that the their them then
    there these they this those through to too under until up us very was we were what when where
    which while who whom whose why will with within without would you your s t re ll ve don
    o os as um uma uns umas ao aos da das do dos de em na nas no nos num numa pela pelas pelo pelos
    por para pra com sem sob sobre ate apos antes depois durante e ou mas que quem qual quais quando
    onde como se ser sao foi era eram sera serao seja sejam esta estao estava estavam esteja ser
    tem ter tinha ha havia haver pode podem deve devem ja nao nunca so somente apenas tambem mais
    menos muito muita cada todo toda todos todas este esta estes estas esse essa esses essas isso
    isto aquele aquela ele ela eles elas seu sua seus suas lhe lhes nem entao
    el la los las lo un una unos unas al del en y u o con sin sobre bajo hasta desde tras entre
    despues antes durante pero que quien quienes cual cuales cuando donde como se ser es son fue
    era eran sera seran sea sean esta estan estaba este haber hay habia he ha han puede pueden debe
    deben ya nunca solo solamente tambien mas menos muy mucho mucha cada todo toda todos todas este
    ese esa esos esas eso esto aquel el ella ellos ellas su sus le les ni entonces si
    """.split()  # noqa: SIM905 - a list of so many strings would fill a page
)
_ALIKE_FROM = 4  # letters: shorter words are alike only where they are equal
_ALIKE_SHARE = 0.62
_VOWEL_FORM = late(r"(?:ies|es|s|ed|ing|e|y|ing)$")


def content_words(text: str) -> list[str]:
    """Return the folded words of a text in order, without those that say little by themselves."""
    return [word for word in words(text) if word not in _LIGHT]


def is_light(word: str) -> bool:
    """Return whether a folded word says little by itself."""
    return word in _LIGHT


@lru_cache(maxsize=65536)
def alike(one: str, other: str) -> bool:
    """Return whether two folded words look like forms of one word: `aceita` and `aceitar`."""
    if one == other:
        return True
    if one[0] != other[0] or one[0].isdigit():
        return False
    longest, shortest = max(len(one), len(other)), min(len(one), len(other))
    if shortest < _ALIKE_FROM:
        return shortest > 1 and longest - shortest <= 2 and _base(one) == _base(other)
    common = next((i for i in range(shortest) if one[i] != other[i]), shortest)
    return common >= max(_ALIKE_FROM, _ALIKE_SHARE * longest)


def _base(word: str) -> str:
    return _VOWEL_FORM.sub("", word)
