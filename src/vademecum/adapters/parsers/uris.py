"""What does a document's address call it, where the document itself has no title?"""

from pathlib import PurePosixPath

from vademecum.text.normalise import clean


def name_of(uri: str) -> str:
    """Return the last part without its ending, with blanks for the signs that stand for them."""
    return clean(PurePosixPath(uri).stem.replace("-", " ").replace("_", " ") or uri)


def suffix_of(uri: str) -> str:
    """Return the ending in small letters with its dot, or an empty string."""
    return PurePosixPath(uri.lower()).suffix
