"""How does a person at a terminal use it? One command a function, in files by noun."""


def main() -> None:
    """Run `vade`."""
    from vademecum.cli.main import run

    run()
