"""Which pictures show every page? Taken from a running server, light, dark and as wide as a phone.

`make screenshots` starts one over the example's documents; VADE_URL and VADE_KEY name another.
"""

import os
import shutil
import sys
import tomllib
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "images"
QUESTIONS = ROOT / "examples" / "boxoffice" / "questions.toml"
WAYS = {
    "light": {"viewport": {"width": 1360, "height": 860}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1360, "height": 860}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "color_scheme": "light"},
}
QUESTION = "Qual é o tamanho máximo de bolsa no Teatro do Porto?"
STATED = "I live in Porto. Can I transfer a ticket to another person?"
RULES = """# House rules

Doors open one hour before the concert.

Bags of up to 30 litres are allowed. Larger ones stay in the cloakroom, which costs 4 euros.

Photography is allowed without flash.
"""
NEWER_RULES = """# House rules

Doors open 90 minutes before the concert.

Bags of up to 20 litres are allowed. Larger ones stay in the cloakroom, which is free of charge.

Photography is allowed without flash.

Tripods and selfie sticks stay outside.
"""
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
    _revise(page, url, key)
    _evaluate(page, url, key)
    return place


def _revise(page: Page, url: str, key: str) -> None:
    """Bring a document in, and its next revision."""
    headers = {"Authorization": f"Bearer {key}"}
    for text in (RULES, NEWER_RULES):
        body = {"uri": "house-rules.md", "text": text, "wait": True, "language": "en"}
        made = page.request.post(
            f"{url}/api/v1/documents", data=body, headers=headers, timeout=60_000
        )
        if not made.ok:
            raise SystemExit(made.text())


def _evaluate(page: Page, url: str, key: str) -> None:
    """Run the example's questions three times, the first ones without the last few, and give a
    thumb down."""
    listed = tomllib.loads(QUESTIONS.read_text(encoding="utf-8"))["question"]
    golden = [
        {
            "id": one["id"],
            "question": one["text"],
            "kind": one["kind"],
            "language": one["language"],
            "relevant": [
                {"document": place["document"], "quote": place["quote"]}
                for place in one.get("evidence", ())
            ],
        }
        for one in listed
    ]
    headers = {"Authorization": f"Bearer {key}"}
    for questions in (golden[: len(golden) * 2 // 3], golden[: len(golden) - 2], golden):
        made = page.request.post(
            f"{url}/api/v1/evaluations",
            data={"name": "box office", "questions": questions},
            headers=headers,
            timeout=120_000,
        )
        if not made.ok:
            raise SystemExit(made.text())
    found = page.request.post(f"{url}/api/v1/search", data={"query": QUESTION}, headers=headers)
    word = {"trace_id": found.json()["trace_id"], "verdict": "down", "reason": "outdated"}
    page.request.post(f"{url}/api/v1/feedback", data=word, headers=headers)


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
    page.goto(f"{url}/sources?q=house-rules")
    document = page.locator("table.sources th a").first.get_attribute("href")
    page.goto(f"{url}{document}/changes")
    picture("changes")
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
    page.goto(f"{url}/evaluate")
    page.locator("a[href^='/evaluate/0']").first.click()
    page.locator("select[name=against]").select_option(index=1)
    page.locator("main form button").first.click()
    picture("evaluation")
    page.goto(f"{url}/evaluate")
    page.locator("a[href^='/evaluate/question/']").first.click()
    picture("golden")


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
