"""What can be set? `python tools/settings_page.py > docs/reference/settings.md`.

The page is made from the settings tree; a test fails where the two differ.
"""

from vademecum.settings import USUAL, Settings, keys

HEAD = """\
# Settings

Made from the settings tree by `tools/settings_page.py`; change it there.

Read from one file (`--config`, else `./vademecum.toml`, else `vademecum.toml` in the data folder),
then from the environment, then from flags; the later wins. In the file a key is `name = value`
under its `[section]`. In the environment `section.name` is `VADE_SECTION__NAME`, or the usual name
beside it; our own name wins over the usual one. With `_FILE` behind a variable's name its value is
the path of a file that holds the value, for secrets. An empty variable sets nothing, and an unknown
key is an error. A `*` stands for a name of yours. `vade config show` prints each value and where
it came from, secrets masked.

The data folder is `VADE_HOME`, else `/var/lib/vademecum` for root, else the platform's folder for
a user's data.

| key | default | what it is | usual name |
|---|---|---|---|
"""


def page() -> str:
    """Return the whole page as Markdown."""
    usual = {key: name for name, key in USUAL.items()}
    rows = [
        f"| `{key}` | {_default(key)} | {about} | {f'`{usual[key]}`' if key in usual else ''} |\n"
        for key, about in keys()
    ]
    return HEAD + "".join(rows)


def _default(key: str) -> str:
    value: object = Settings()
    for part in key.partition(".*")[0].split("."):
        value = getattr(value, part)
    if isinstance(value, dict):
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{value}`" if value not in (None, "") else ""


if __name__ == "__main__":
    print(page(), end="")
