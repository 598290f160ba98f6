"""Which pictures show every page? Taken from a running server, light, dark and as wide as a phone.

`make screenshots` starts one over the example's documents; VADE_URL and VADE_KEY name another.
"""

import os
import shutil
import sys
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

FOLDER = Path(__file__).parents[1] / "docs" / "images"
WAYS = {
    "light": {"viewport": {"width": 1360, "height": 860}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1360, "height": 860}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "color_scheme": "light"},
}
QUESTION = "Qual é o tamanho máximo de bolsa no Teatro do Porto?"
STATED = "I live in Porto. Can I transfer a ticket to another person?"
UNKNOWN = "What is the boiling point of tungsten?"


def main() -> int:
    url = os.environ.get("VADE_URL", "http://127.0.0.1:8124")
    key = os.environ["VADE_KEY"]
    chromium = shutil.which("chromium")
    if chromium is None:
        print("there is no chromium on this machine", file=sys.stderr)
        return 1
    FOLDER.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--headless", "--disable-gpu"]
        )
        prepared = _prepare(browser, url, key)
        for way in WAYS:
            _take(browser, url, key, way, prepared)
        browser.close()
    return 0


def _signed_in(browser: Browser, url: str, key: str, way: str) -> Page:
    page = browser.new_context(locale="en-GB", **WAYS[way]).new_page()  # type: ignore[arg-type]
    page.goto(f"{url}/sign-in")
    page.screenshot(path=FOLDER / f"sign-in-{way}.png")
    page.fill("#key", key)
    page.click("main button")
    page.wait_for_url(f"{url}/")
    return page


def _prepare(browser: Browser, url: str, key: str) -> str:
    """Ask three questions once and remember something; return the conversation's address."""
    page = _signed_in(browser, url, key, "light")
    for question in (QUESTION, STATED, UNKNOWN):
        before = page.locator("[data-answer]").count()
        page.fill("#question", question)
        page.click("#send")
        page.locator("[data-answer]").nth(before).wait_for(timeout=60_000)
    place = page.url
    page.goto(f"{url}/memory")
    for text in ("I use a wheelchair.", "I live in Lisbon.", "I live in Porto."):
        page.fill("main input[name=text]", text)
        page.locator("main form.card button").first.click()
        page.wait_for_load_state()
    return place


def _take(browser: Browser, url: str, key: str, way: str, talk: str) -> None:
    page = _signed_in(browser, url, key, way)

    def picture(name: str) -> None:
        page.wait_for_timeout(400)
        page.screenshot(path=FOLDER / f"{name}-{way}.png")

    picture("new")
    page.goto(talk)
    picture("unknown")
    first = page.locator("[data-answer] a.chip").first
    first.scroll_into_view_if_needed()
    first.hover()
    picture("ask")
    first.click()
    _whole(page, "img[data-sheet]")
    picture("evidence")
    page.keyboard.press("Escape")
    trace = page.locator("a[href^='/inspect/']").first.get_attribute("href") or "/inspect"
    page.goto(f"{url}/sources")
    picture("sources")
    page.goto(f"{url}/sources?q=porto")
    page.locator("table.sources th a").first.click()
    _whole(page, ".sheet img")
    picture("source")
    places = {
        "memory": "/memory",
        "erase": "/memory/erase",
        "inspect": trace,
        "traces": "/inspect",
        "evaluate": "/evaluate",
        "status": "/status",
    }
    for name, place in places.items():
        page.goto(url + place)
        picture(name)


def _whole(page: Page, picture: str) -> None:
    """Wait until a picture of a page is there, which takes the server a moment to paint."""
    place = page.locator(picture).first
    place.wait_for()
    for _ in range(100):
        if place.evaluate("picture => picture.complete && picture.naturalWidth > 0"):
            return
        page.wait_for_timeout(100)


if __name__ == "__main__":
    sys.exit(main())
