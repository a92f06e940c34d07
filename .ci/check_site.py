"""Check the built site: every internal link and anchor resolves, nothing comes from elsewhere, and
pages open in a browser without errors and without horizontal scrolling.

    python .ci/check_site.py [FOLDER]
"""

import argparse
import os
import re
import shutil
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src"}
NOT_LOADED = {"canonical", "alternate", "search", "index", "next", "prev", "author", "help"}
WIDTHS = (390, 820, 1280)
HANG = 600_000  # milliseconds: only a browser that hangs is waited for so long
OPENED = (
    "index.html",
    "search.html",
    "*/index.html",
    "start/*.html",
    "guides/*.html",
    "explanation/*.html",
    "results/*.html",
    "tutorials/plot_*.html",
    "reference/*.html",
    "reference/generated/plcp.PLCP.html",
    "reference/generated/plcp.metrics.ert.html",
)
# tables and code scroll by themselves; neither the page nor its article may
WIDER = """() => {
  const boxes = [document.documentElement, ...document.querySelectorAll("main, main article")];
  const wide = boxes.find(box => box.scrollWidth > box.clientWidth + 1);
  if (!wide) return null;
  const end = wide.getBoundingClientRect().left + wide.clientWidth + 1;
  const scrolls = one => one !== wide && /auto|scroll|hidden/.test(getComputedStyle(one).overflowX);
  const held = one => one !== wide && (scrolls(one) || held(one.parentElement));
  return [...wide.querySelectorAll("*")]
    .filter(one => one.getBoundingClientRect().right > end && !held(one.parentElement))
    .map(one => `${one.tagName.toLowerCase()} "${one.textContent.slice(0, 40)}"`)
    .slice(-1)[0] || "?";
}"""


class Page(HTMLParser):
    """Links, anchors, and what a page loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.anchors: set[str] = {"", "top"}
        self.loads: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag refers to."""
        values = dict(attrs)
        self.anchors |= {value for key in ("id", "name") if (value := values.get(key))}
        if tag == "a" and values.get("href"):
            self.links.add(values["href"] or "")
        if tag in LOADED and values.get(LOADED[tag]):
            self.loads.add(values[LOADED[tag]] or "")
        if tag == "link" and not NOT_LOADED & {*(values.get("rel") or "").split()}:
            self.loads.add(values.get("href") or "")


@cache
def page_at(path: Path) -> Page:
    """Return a page that is parsed once."""
    return Page(path)


def pages_of(site: Path) -> list[Path]:
    """Return all pages; templates of the theme are none."""
    return sorted({*site.rglob("*.html")} - {*(site / "_static").rglob("*.html")})


def check_links(site: Path) -> list[str]:
    """Return what does not resolve, and what comes from elsewhere."""
    wrong = []
    for path in pages_of(site):
        page, name = page_at(path), path.relative_to(site)
        for address in sorted(page.links | page.loads):
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                if address in page.loads and parts.scheme != "data":
                    wrong.append(f"{name} loads {address}")
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            if not target.is_relative_to(site) or not target.is_file():
                wrong.append(f"{name}: {address} does not exist")
            elif (
                target.suffix == ".html" and unquote(parts.fragment) not in page_at(target).anchors
            ):
                wrong.append(f"{name}: {address} has no such anchor")
    for path in sorted(site.rglob("*.css")):
        for address in re.findall(
            r"(?:url\(|@import)\s*[\"']?(https?:|//)[^\"')]*", path.read_text()
        ):
            wrong.append(f"{path.relative_to(site)} loads {address}")
    return wrong


def check_pages(site: Path, browser: Browser) -> tuple[int, list[str]]:
    """Open pages at every width; return how many, and what went wrong."""
    paths = sorted({path for pattern in OPENED for path in site.glob(pattern)})
    wrong: list[str] = []
    for width in WIDTHS:
        context = browser.new_context(viewport={"width": width, "height": 900})
        context.set_default_timeout(HANG)
        page = context.new_page()
        seen = faults_of(page)
        for path in paths:
            page.goto(path.as_uri())
            if too_wide := page.evaluate(WIDER):
                seen.append(f"scrolls sideways: {too_wide}")
            wrong += [f"{path.relative_to(site)} at {width}: {text}" for text in seen]
            seen.clear()
        context.close()
    return len(paths), wrong


def faults_of(page: Any) -> list[str]:
    """Return a list that is added to whenever a page complains or requests what is elsewhere."""
    seen: list[str] = []
    page.on("console", lambda one: one.type == "error" and seen.append(one.text))
    page.on("pageerror", lambda error: seen.append(str(error)))
    page.on("request", lambda one: one.url.startswith("http") and seen.append(one.url))
    return seen


def main() -> int:
    """Check a site, and print what is wrong with it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site", nargs="?", type=Path, default=ROOT / "docs" / "_build" / "html")
    site = parser.parse_args().site.resolve()
    wrong = check_links(site)
    print(f"links of {len(pages_of(site))} pages: {len(wrong)} wrong")
    chromium = shutil.which("chromium")
    if chromium is None:
        assert "CI" not in os.environ, "install chromium"
        print("no chromium: pages are not opened")
    else:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=chromium, args=["--no-sandbox"], timeout=HANG
            )
            opened, faults = check_pages(site, browser)
            browser.close()
        print(f"{opened} pages opened at {len(WIDTHS)} widths: {len(faults)} faults")
        wrong += faults
    print(*wrong, sep="\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
