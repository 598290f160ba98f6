"""Is a question complete by itself, or does it need what was said before?

Explicit lists in English, Portuguese, Spanish, Nepali and Hindi. Whoever is in doubt searches as
typed: a complete question that is mixed with an older one finds the older one's answer.
"""

import regex

from vademecum.text.analyse import codes
from vademecum.text.greetings import is_greeting
from vademecum.text.late import late
from vademecum.text.normalise import plain

_WORD = late(r"[\p{L}\p{N}][\p{L}\p{M}\p{N}'’-]*")
# Words that begin a question which goes on with the one before.
_GOES_ON = late(
    r"\W*(?:(?P<what>what about|how about|e quanto a|e sobre|e se|qué tal|que tal|y si)\b"
    r"|(?:and|but|or|so|then|also|e|ou|mas|então|entao|também|tambem|y|o|pero|entonces|también"
    r"|अनि|र|तर|और|लेकिन|तो)(?=[\s,…]))",
    regex.IGNORECASE,
)
# Words that stand for something said before. `that` joins clauses too, so it counts only where
# it can be nothing else.
_REFERS = late(
    r"\b(?:it|its|they|them|their|theirs|he|him|his|she|her|hers|those|these|there|ones"
    r"|(?:is|was|does|did|can|will|could|would)\s+th(?:at|is)"
    r"(?!\s+(?:week|weekend|month|year|season|morning|afternoon|evening|summer|winter)\b)"
    r"|th(?:at|is)(?=\s*(?:$|[?.!,;])|\s+(?:is|was|one|too|also|cost|include|work|mean|apply)\b)"
    r"|ele|ela|eles|elas|dele|dela|deles|delas|nele|nela|neles|nelas|isso|isto|disso|disto|nisso"
    r"|nisto|aquilo|daquilo|esse|essa|esses|essas|desse|dessa|nesse|nessa|aquele|aquela|lá"
    r"|eso|esto|ello|él|ellos|ellas|ese|esa|esos|esas|aquel|aquella|allí|allá|ahí)\b"
    r"|(?<![\p{L}\p{M}])(?:त्यो|यो|ती|यी|त्यस|यस|उस|त्यहाँ|यहाँ|तिन|त्यही|उनी|उहाँ"
    r"|वह|वो|यह|उन|इस|इन|वहाँ|वहां)(?:को|का|की|के|मा|में|से|ले|लाई|ने|हरू|हरूको)?(?![\p{L}\p{M}])",
    regex.IGNORECASE,
)
# Where these words stand for nothing.
_EXPLETIVE = late(
    r"\b(?:is|was|will)\s+(?:it|there)\s+(?:be\s+)?(?:allowed|possible|ok|okay|permitted|legal|safe"
    r"|true|necessary|required|a|an|any|some|parking|better|worth|free|still)\b"
    r"|\bit\s+(?:is|was)\s+(?:allowed|possible|permitted|necessary|required|true)\b"
    r"|\b(?:is|are|was|were|will)\s+there\b|\bthere\s+(?:is|are|was|were|will)\b",
    regex.IGNORECASE,
)
# Words that ask, join or carry no subject of their own: a question of these alone says of nothing.
_NO_SUBJECT = frozenset(
    """
    a about an and any are as at be been but by can cost costs could did do does else end ends for
    from get go had happen happens has have how i if in is it its last lasts long many may me mean
    more much must my need no not of ok on one ones open opens or our please price same shall
    should so start starts take takes tell than that the their them then there these they this
    those time to too until us was we were what when where which who whom whose why will with work
    works would yes you your
    abre abrem acaba acontece ao aos as até ate com como começa comeca custa custam da das de demora
    depois do dos dura e ela elas ele eles em então entao era esse essa fecha fecham fica foi
    funciona há ha isso isto já ja lá mais mas me mesmo meu minha na nas não nao no nos o onde os ou
    para pela pelo pode podem por porque porquê posso preciso preço preco qual quais quando quanta
    quantas quanto quantos que quê quem se sem ser será seria sim só so são sao tem têm também
    tambem tenho termina um uma vai é
    abren ahí allí al acaba cierra cierran como cómo cual cuál cuales cuáles cuando cuándo cuanta
    cuánta cuantas cuántas cuanto cuánto cuantos cuántos cuesta cuestan de del desde donde dónde
    el ella ellas ellos empieza en entonces es esa ese eso esta está están este esto existe funciona
    hasta hay la las le les lo los más mas me mi mis muy necesito o para pero pero por porqué precio
    puede pueden puedo que qué quien quién según ser si sí sin son su sus también tengo tiene tienen
    tú un una unas unos va y ya
    अनि र तर हो होइन छ छैन कति कहिले कहाँ किन कसरी कुन के को का की त्यो यो मूल्य पर्छ लाग्छ खुल्छ
    और क्या कब कहाँ कहां क्यों कैसे कितना कितने कितनी कौन है हैं था वह यह में
    """.split()  # noqa: SIM905 - a list of so many strings would fill a page
)
_ANSWERS = late(
    r"\W*(?:yes|yeah|yep|no|nope|sure|okay|ok|please|both|neither|either"
    r"|sim|não|nao|claro|isso|pode ser|os dois|ambos|nenhum"
    r"|sí|si|vale|ambas|ninguno|हो|होइन|हुन्छ|हवस्|छैन|हाँ|हां|नहीं|ठीक)\b",
    regex.IGNORECASE,
)
_CHOICES = late(
    r"\b(?:first|second|third|last|former|latter|primeir[oa]|segund[oa]|terceir[oa]|últim[oa]"
    r"|primer[oa]?|tercer[oa]?)\b|(?<!\p{L})(?:पहिलो|दोस्रो|तेस्रो|पहला|दूसरा)",
    regex.IGNORECASE,
)
_SHORT_ANSWER = 6
_SHORT_CHOICE = 4
_OWN_SUBJECT = 3
_ANTECEDENT = 2


def goes_on(question: str) -> bool:
    """Return whether a question says what it asks of only together with what was said before.

    A code is searched as typed, unless the words before it say that the question goes on.
    """
    text = plain(question).replace("’", "'")
    if not _WORD.search(text) or is_greeting(text):
        return False
    subjects = len(_subjects(text))
    begins = _GOES_ON.match(text)
    if begins and (subjects < _OWN_SUBJECT or begins["what"]):
        return True
    if codes(text):
        return False
    if subjects == 0:
        return True
    spoken = _EXPLETIVE.sub(lambda match: " " * len(match.group()), text)
    return any(
        len(_subjects(text[: match.start()])) < _ANTECEDENT for match in _REFERS.finditer(spoken)
    )


def answers_offer(reply: str, offer: str) -> bool:
    """Return whether a short message takes up what the assistant offered: yes or no, a choice, or
    a code that stands in the offer."""
    if "?" not in offer and "？" not in offer:
        return False
    said = len(_WORD.findall(plain(reply)))
    if said > _SHORT_ANSWER:
        return False
    named = set(codes(reply))
    return bool(
        _ANSWERS.match(reply)
        or (said <= _SHORT_CHOICE and _CHOICES.search(reply))
        or (said <= _SHORT_CHOICE and named and named <= set(codes(offer)))
    )


def offered(offer: str, reply: str) -> str:
    """Return the offer without the codes that the reply did not choose, if it chose any."""
    chosen = set(codes(reply))
    if not chosen:
        return offer
    kept = [word for word in offer.split() if not (found := set(codes(word))) or found <= chosen]
    return " ".join(kept)


def _subjects(text: str) -> list[str]:
    """Return the words that say of what is spoken."""
    return [word for word in _WORD.findall(text) if word.casefold() not in _NO_SUBJECT]
