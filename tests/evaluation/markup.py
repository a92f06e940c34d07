"""A page as a parser sees it."""

import json
from dataclasses import dataclass, field
from html.parser import HTMLParser


@dataclass
class Parsed:
    """Tags with their attributes in order, and the text between them."""

    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    scripts: list[str] = field(default_factory=list)
    styles: list[str] = field(default_factory=list)

    @property
    def skeleton(self):
        """What a page is made of, whatever its texts say."""
        return [(tag, sorted(attributes)) for tag, attributes in self.tags]

    @property
    def summary(self):
        [data] = [i for i, (tag, kept) in enumerate(self.scripted) if kept.get("id") == "summary"]
        return json.loads(self.scripts[data])

    @property
    def scripted(self):
        return [(tag, kept) for tag, kept in self.tags if tag == "script"]

    def values(self, name):
        """Values of an attribute, wherever it stands."""
        return [kept[name] for _, kept in self.tags if name in kept]


class _Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.parsed, self.open = Parsed(), []

    def handle_starttag(self, tag, attributes):
        self.parsed.tags.append((tag, dict(attributes)))
        self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.parsed.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        self.parsed.tags.append(("/" + tag, {}))
        self.open.append("/" + tag)

    def handle_data(self, data):
        within = self.open[-1] if self.open else ""
        kept = {"script": self.parsed.scripts, "style": self.parsed.styles}
        kept.get(within, self.parsed.texts).append(data)

    def handle_comment(self, data):
        self.parsed.tags.append(("comment", {}))


def parse(page):
    reader = _Reader()
    reader.feed(page)
    reader.close()
    return reader.parsed
