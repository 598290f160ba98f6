"""What is hard for a chunker: no blanks, only blanks, no ends, too many ends, headings alone."""

from collections.abc import Callable
from random import Random

from malformed.sample import Sample, sentence


def _text(text: str, uri: str = "notes/note.txt") -> Sample:
    return Sample(content=text.encode(), uri=uri)


def no_blanks(random: Random) -> Sample:
    return _text(
        random.choice(["a", "票", "ना", "👩\u200d👩\u200d👧", "é", ".", "_", "\u200b", "-"])
        * random.choice([500, 200_000])
    )


def words_of_no_language(random: Random) -> Sample:
    return _text("".join(random.choices("abcdefghijklmnopqrstuvwxyz0123456789+/=", k=200_000)))


def few_words_in_blanks(random: Random) -> Sample:
    return _text(
        (random.choice([" ", "\n", "\t", "\u3000", "\xa0"]) * random.choice([100, 60_000])).join(
            ["one", "two", "three"]
        )
    )


def one_line_of_json(random: Random) -> Sample:
    return _text(
        '{"k": [' + '"value", ' * random.choice([100, 60_000]) + '"end"]}', "notes/note.log"
    )


def many_headings(random: Random) -> Sample:
    return _text(
        "\n".join(f"{'#' * (1 + n % 6)} h{n}" for n in range(random.choice([1_000, 100_000]))),
        "notes/note.md",
    )


def deep_headings(random: Random) -> Sample:
    name = sentence(random, 40)
    return _text(
        "".join(f"{'#' * level} {name} {level}\n\n" for level in range(1, 7)) + sentence(random),
        "notes/note.md",
    )


def one_long_heading(random: Random) -> Sample:
    return _text(
        f"# {sentence(random, random.choice([300, 20_000]))}\n\n{sentence(random)}", "notes/note.md"
    )


def many_paragraphs(random: Random) -> Sample:
    return _text("\n\n".join(["x"] * random.choice([1_000, 100_000])))


def many_ends(random: Random) -> Sample:
    return _text(
        random.choice([". ", "。", "! ", "?", "...", "।", ".\n", "…"])
        * random.choice([1_000, 100_000])
    )


def one_sentence(random: Random) -> Sample:
    return _text(sentence(random, random.choice([2_000, 60_000])))


def one_row(random: Random) -> Sample:
    return _text(
        "| a |\n|---|\n| " + "word " * random.choice([500, 100_000]) + "|", "notes/note.md"
    )


def long_names_of_columns(random: Random) -> Sample:
    names = " | ".join(sentence(random, 20) for _ in range(30))
    return _text(f"| {names} |\n|{'---|' * 30}\n" + f"|{' x |' * 30}\n" * 300, "notes/note.md")


def one_fence(random: Random) -> Sample:
    return _text("```\n" + "x = 1\n" * random.choice([100, 60_000]) + "```", "notes/note.md")


def deep_list(random: Random) -> Sample:
    return _text(
        "\n".join("  " * min(n, 300) + f"- {sentence(random, 3)}" for n in range(900)),
        "notes/note.md",
    )


def repeated(random: Random) -> Sample:
    return _text("tick tock " * random.choice([100, 50_000]))


def mixed_scripts(random: Random) -> Sample:
    pieces = (
        "票价。",
        "नेपाली ",
        "مرحبا؟",
        "👩🏽\u200d❤️\u200d💋\u200d👨🏽",
        "🇧🇷",
        "e\u0301\u0323",
        "ไทยไม่มีเว้นวรรค",
        "한국어",
        "ﷺ",
        "<|endoftext|>",
    )
    return _text("".join(random.choices(pieces, k=random.choice([50, 20_000]))))


KINDS: tuple[Callable[[Random], Sample], ...] = (
    no_blanks, words_of_no_language, few_words_in_blanks, one_line_of_json, many_headings,
    deep_headings, one_long_heading, many_paragraphs, many_ends, one_sentence, one_row,
    long_names_of_columns, one_fence, deep_list, repeated, mixed_scripts,
)  # fmt: skip
