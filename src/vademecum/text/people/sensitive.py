"""Which kinds of sensitive content does a text hold, that need the person's consent?"""

from functools import cache

import regex

from vademecum.text.late import late
from vademecum.text.normalise import fold

# Folded beginnings of words, or whole words where a `$` ends them: English, Portuguese, Spanish.
# GDPR article 9 and LGPD article 5 II name the kinds.
_WORDS = {
    "health": """
        allerg alerg intoleran celiac celiak diabet asthma asma epilep cancer tumor hiv$ aids$ sida$
        depress depres anxiety ansiedad bipolar schizo esquizo autis adhd$ tdah$ migraine enxaqueca
        migran pregnan gravid embaraz disab deficien discapac wheelchair cadeirante disease doenc
        enfermedad illness enferm diagnos medic$ medication medicac medicina$ medicament remedio
        therapy$ therapist terapi psychiatr psiquiatr surgery cirurg cirug hospital chemo quimio
        insulin blood$ sangue$ sangre$ addict adict vicio$ alcoholi alcooli alcoholic hypertens
        hipertens cholesterol colesterol vaccin vacina vacuna symptom sintoma cadeira\\s+de\\s+rodas
        silla\\s+de\\s+ruedas doctor$ mental\\s+health saude$ salud$ dyslexi dislexi
    """,
    "religion": """
        religio catholic catolic christian$ cristao$ crista$ cristian protestant evangelic muslim
        muculman musulman islam jew$ jewish judai judeu judia$ judio$ hindu budis buddhis atheis
        ateu$ ateo$ atea$ ateia$ agnostic church igreja iglesia mosque mesquita mezquita synagog
        sinagoga espirita candomble umbanda mormon orthodox$ kosher$ halal$ baptis faith$ pray
        rezo$ rezar
    """,
    "politics": """
        politic republican democrat$ democrats$ socialis communis comunis conservador conservative
        left-wing right-wing leftist izquierd direitis derechis esquerdis vote$ voted$ votei$ votar
        votou$ voto$ vote\\s+for election eleic eleccion trade\\s+union sindicat sindical
        union\\s+member anarchis anarquis fascis feminis labour\\s+party partido$
    """,
    "sexuality": """
        gay$ lesbian lesbica bisexual bissexual heterosex homosex queer$ transgender transgenero
        trans$ transexual transsexual nonbinary non-binary nao-binari no\\s+binari asexual assexual
        sexual\\s+orient orientacao\\s+sexual orientacion\\s+sexual sex\\s+life vida\\s+sexual
        my\\s+pronouns lgbt
    """,
    "biometrics": """
        fingerprint impressao\\s+digital impressoes\\s+digitais huella face\\s+id$ faceprint
        iris\\s+scan retina voiceprint dna$ adn$ genom genetic genetica biometr facial\\s+recog
        reconhecimento\\s+facial reconocimiento\\s+facial
    """,
    "origin": """
        ethnic etnia$ etnic my\\s+race$ raca$ raza$ black\\s+person indigenous indigena quilombol
        roma\\s+people cigan gitan
    """,
}
# What decides whether somebody is safe: it must always be at hand.
_VITAL = late(
    r"(?<!\w)(?:allerg|alerg|anaphyla|anafila|celiac|celiak|diabet|epilep|asthma|asma\b|insulin"
    r"|wheelchair|cadeirante|cadeira\s+de\s+rodas|silla\s+de\s+ruedas|intoleran|pregnan|gravid"
    r"|embaraz|pacemaker|marca-?passo|marcapasos|hemophil|hemofil)"
)


@cache
def _pattern(kind: str) -> regex.Pattern[str]:
    endings = "|".join(
        rf"{word[:-1]}(?!\w)" if word.endswith("$") else word for word in _WORDS[kind].split()
    )
    return late(rf"(?<!\w)(?:{endings})")


def sensitive(text: str) -> frozenset[str]:
    """Return the kinds of sensitive content that words of a text tell of: health, religion,
    politics, sexuality, biometrics, origin. Word lists find what is said plainly, and no more."""
    folded = fold(text)
    return frozenset(kind for kind in _WORDS if _pattern(kind).search(folded))


def is_vital(text: str) -> bool:
    """Return whether a text tells of an allergy, or of another condition on which somebody's
    safety hangs."""
    return _VITAL.search(fold(text)) is not None
