"""Which chunker divides a document, and how large are its chunks?"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from vademecum.adapters.chunkers import fixed, parent, recursive, semantic, structure
from vademecum.adapters.chunkers.fixed import FixedChunker
from vademecum.adapters.chunkers.parent import ParentChunker
from vademecum.adapters.chunkers.recursive import RecursiveChunker
from vademecum.adapters.chunkers.semantic import SemanticChunker
from vademecum.adapters.chunkers.structure import StructureChunker
from vademecum.errors import InvalidSetting
from vademecum.ports.chunker import Chunker

STRATEGIES = ("structure", "fixed", "recursive", "semantic", "parent")
_PRESETS = {
    "structure": structure.DEFAULT_TOKENS,
    "fixed": fixed.DEFAULT_TOKENS,
    "recursive": recursive.DEFAULT_TOKENS,
    "semantic": semantic.DEFAULT_TOKENS,
    "parent": parent.DEFAULT_TOKENS,
}
_OFFICE = "application/vnd.openxmlformats-officedocument"
_OPEN = "application/vnd.oasis.opendocument"
# The name by which a person speaks of a document type.
TYPE_NAMES: Mapping[str, str] = {
    "application/pdf": "pdf",
    "text/markdown": "markdown",
    "text/plain": "text",
    "text/html": "html",
    "application/xhtml+xml": "html",
    f"{_OFFICE}.wordprocessingml.document": "docx",
    f"{_OFFICE}.presentationml.presentation": "pptx",
    f"{_OFFICE}.spreadsheetml.sheet": "xlsx",
    f"{_OPEN}.text": "odt",
    f"{_OPEN}.spreadsheet": "ods",
    f"{_OPEN}.presentation": "odp",
    "text/csv": "csv",
    "text/tab-separated-values": "tsv",
    "application/json": "json",
    "application/jsonl": "jsonl",
    "application/x-ndjson": "jsonl",
    "application/epub+zip": "epub",
    "message/rfc822": "eml",
    "text/xml": "xml",
    "application/xml": "xml",
    "image/svg+xml": "svg",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkingRule:
    """How to divide; what is None is left to a more general rule, at last to the preset.

    `size`, `overlap` and `section` are tokens of the embedder; only the strategy `fixed` has an
    overlap, and only `parent` has sections.
    """

    strategy: str | None = None
    size: int | None = None
    overlap: int | None = None
    section: int | None = None

    def over(self, general: "ChunkingRule") -> "ChunkingRule":
        """Return this rule, filled up from a more general one."""
        return ChunkingRule(
            strategy=general.strategy if self.strategy is None else self.strategy,
            size=general.size if self.size is None else self.size,
            overlap=general.overlap if self.overlap is None else self.overlap,
            section=general.section if self.section is None else self.section,
        )


class ChunkingRules:
    """The Chunking port: what was asked for goes before the rule of a document's type, that
    before its collection's, that before the default.

    `window` is the most tokens that a chunk may have for the embedder; larger sizes are brought
    down to it, and the chunker's notes say so.
    """

    def __init__(
        self,
        default: ChunkingRule,
        *,
        window: int,
        collections: Mapping[str, ChunkingRule] | None = None,
        types: Mapping[str, ChunkingRule] | None = None,
    ) -> None:
        """Raises: InvalidSetting for a rule that no document could be divided by."""
        self._default = default
        self._window = window
        self._collections = dict(collections or {})
        self._types = dict(types or {})
        known = set(TYPE_NAMES.values())
        if unknown := sorted(self._types.keys() - known):
            raise InvalidSetting(
                f"chunking.types.{unknown[0]} names no document type",
                hint=f"known ones are {', '.join(sorted(known))}",
            )
        for collection in ("", *self._collections):
            for asked in (None, *STRATEGIES):
                self.fingerprint(collection, asked)

    def choose(self, collection: str, media_type: str, asked: str | None = None) -> Chunker:
        """See `Chunking.choose`."""
        return self._chunker(collection, TYPE_NAMES.get(media_type, ""), asked)

    def fingerprint(self, collection: str, asked: str | None = None) -> str:
        """See `Chunking.fingerprint`."""
        return ";".join(self._fingerprints(collection, asked))

    def _fingerprints(self, collection: str, asked: str | None) -> Iterator[str]:
        default = self._chunker(collection, "", asked).fingerprint
        yield default
        for name in sorted(self._types):
            own = self._chunker(collection, name, asked).fingerprint
            if own != default:
                yield f"{name}={own}"

    def _chunker(self, collection: str, type_name: str, asked: str | None) -> Chunker:
        rule = self._default
        where = "chunking"
        for special, name in (
            (self._collections.get(collection), f"chunking.collections.{collection}"),
            (self._types.get(type_name), f"chunking.types.{type_name}"),
        ):
            if special is not None:
                rule, where = special.over(rule), name
        return _made(ChunkingRule(strategy=asked).over(rule), self._window, where)


def _made(rule: ChunkingRule, window: int, where: str) -> Chunker:
    """Return the chunker of a complete rule; `where` names it in what a person reads."""
    strategy = rule.strategy or "structure"
    if strategy not in STRATEGIES:
        raise InvalidSetting(
            f"There is no chunker {strategy}", hint=f"known ones are {', '.join(STRATEGIES)}"
        )
    asked = _PRESETS[strategy] if rule.size is None else rule.size
    if asked < structure.FEWEST_TOKENS:
        raise InvalidSetting(
            f"{where}.size is {asked}", hint=f"a chunk needs at least {structure.FEWEST_TOKENS}"
        )
    size = min(asked, window)
    notes = (
        (f"chunks of {asked} tokens were asked for; the embedding model takes {size}",)
        if size < asked
        else ()
    )
    if strategy == "structure":
        return StructureChunker(size, notes=notes)
    if strategy == "recursive":
        return RecursiveChunker(size, notes=notes)
    if strategy == "semantic":
        return SemanticChunker(size, notes=notes)
    if strategy == "parent":
        return ParentChunker(size, _section(rule, asked, where), notes=notes)
    return FixedChunker(size, _overlap(rule, asked, size, where), notes=notes)


def _section(rule: ChunkingRule, asked: int, where: str) -> int:
    """Return the size of sections whose chunks should have `asked` tokens; no embedder reads one,
    so it is not brought down."""
    if rule.section is None:
        return asked * parent.DEFAULT_CHUNKS_A_SECTION
    if rule.section < asked:
        raise InvalidSetting(
            f"{where}.section is {rule.section}, with chunks of {asked} tokens",
            hint="a section is at least as large as a chunk",
        )
    return rule.section


def _overlap(rule: ChunkingRule, asked: int, size: int, where: str) -> int:
    """Return the overlap of chunks that have `size` tokens where `asked` were asked for."""
    if rule.overlap is None:
        return size * fixed.DEFAULT_OVERLAP // fixed.DEFAULT_TOKENS
    if not 0 <= rule.overlap < asked:
        raise InvalidSetting(
            f"{where}.overlap is {rule.overlap}, with chunks of {asked} tokens",
            hint="an overlap is at least 0 and below the size",
        )
    # Of a size that was brought down, the overlap keeps its share.
    return rule.overlap * size // asked
