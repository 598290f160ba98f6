"""How does a test look at the pages with real eyes? The machine's Chromium, on a served bench.

Everything that the browser does beside showing is written down: requests, dialogs, errors, and what
the content policy refused.
"""

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

import pytest
from playwright.async_api import Browser, BrowserContext, Page, async_playwright

REQUIRED = "VADE_REQUIRE_PROGRAMS"
_ARGUMENTS = ["--no-sandbox", "--headless", "--disable-gpu", "--disable-background-networking"]


def chromium() -> str:
    """Return where the machine's Chromium is; without one the test is skipped, or fails in CI."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        missing = "there is no chromium on this machine: apt-get install chromium"
        if os.environ.get(REQUIRED):
            pytest.fail(missing)
        pytest.skip(missing)
    return found


@asynccontextmanager
async def browser() -> AsyncIterator[Browser]:
    path = chromium()
    async with async_playwright() as playwright:
        started = await playwright.chromium.launch(executable_path=path, args=_ARGUMENTS)
        yield started
        await started.close()


@dataclass(kw_only=True)
class Watched:
    """A page, and all that it did beside showing. `refused` are breaches of the content policy."""

    page: Page
    base: str
    elsewhere: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def check(self) -> None:
        """Fail where anything ran, went out, or was refused."""
        assert self.elsewhere == []
        assert self.dialogs == []
        assert self.refused == []
        assert self.errors == []

    async def sign_in(self, key: str) -> None:
        await self.page.goto(f"{self.base}/sign-in")
        await self.page.fill("#key", key)
        await self.page.click("main button")
        await self.page.wait_for_url(f"{self.base}/")

    async def ask(self, question: str) -> None:
        """Ask, and wait until the answer is whole."""
        before = await self.page.locator("[data-answer]").count()
        await self.page.fill("#question", question)
        await self.page.click("#send")
        await self.page.locator("[data-answer]").nth(before).wait_for()

    async def accessible(self) -> None:
        """Fail where axe finds anything serious."""
        source = (resources.files("axe_core_python") / "axe.min.js").read_text(encoding="utf-8")
        await self.page.evaluate(f"{source};null")
        found: dict[str, Any] = await self.page.evaluate("async () => await axe.run()")
        assert len(found["passes"]) > 10
        serious = [
            (violation["id"], [node["html"][:160] for node in violation["nodes"]][:3])
            for violation in found["violations"]
            if violation["impact"] in ("serious", "critical")
        ]
        assert serious == [], f"{self.page.url}: {serious}"


async def watch(context: BrowserContext, base: str) -> Watched:
    """Open a page whose every act is written down."""
    page = await context.new_page()
    watched = Watched(page=page, base=base)

    def asked(url: str) -> None:
        if not url.startswith((base, "data:", "about:")):
            watched.elsewhere.append(url)

    async def dialog(shown: Any) -> None:
        watched.dialogs.append(shown.message)
        await shown.dismiss()

    def said(message: Any) -> None:
        if "Content Security Policy" in message.text:
            watched.refused.append(message.text)

    page.on("request", lambda request: asked(request.url))
    page.on("dialog", dialog)
    page.on("console", said)
    page.on("pageerror", lambda error: watched.errors.append(str(error)))
    context.on("page", lambda other: asked(other.url) if other is not page else None)
    return watched
