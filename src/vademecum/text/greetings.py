"""Does a text only greet or thank?"""

from vademecum.text.late import late
from vademecum.text.normalise import fold

_GREETINGS = frozenset(
    """
    hello hi hey howdy greetings good morning afternoon evening night day thanks thank you very
    much bye goodbye there please ok okay
    ola oi bom boa dia dias tarde tardes noite noites obrigado obrigada muito tchau tudo bem
    hola buenos buenas tarde tardes noches gracias muchas adios que tal
    hallo guten tag morgen abend danke bonjour bonsoir salut merci ciao buongiorno grazie
    """.split()  # noqa: SIM905 - a list of so many strings would fill a page
) | {
    fold(word)
    for word in ("नमस्ते", "नमस्कार", "धन्यवाद", "你好", "谢谢", "こんにちは", "مرحبا", "привет")
}
_WORD = late(r"[\p{L}\p{M}\p{N}]+")


def is_greeting(text: str) -> bool:
    """Return whether a text asks nothing: all its words greet or thank."""
    words = _WORD.findall(fold(text))
    return bool(words) and all(word in _GREETINGS for word in words)
