"""Checks the built site: every link in it leads somewhere, it needs no other host, and search knows every page.

    python3 tools/site/check.py build/site

Each finding is a line: the page, the line of its HTML, what is wrong, and how to mend it.
"""

import json
import posixpath
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# What a browser fetches by itself, by element and attribute. Of <link> it fetches most kinds.
FETCHED = {
    ("audio", "src"), ("embed", "src"), ("iframe", "src"), ("image", "href"), ("img", "src"), ("input", "src"),
    ("link", "href"), ("object", "data"), ("script", "src"), ("source", "src"), ("track", "src"), ("use", "href"),
    ("video", "poster"), ("video", "src"),
}  # fmt: skip
# What a reader follows.
FOLLOWED = {("a", "href"), ("area", "href")}

IN_STYLE = re.compile(r"""url\(\s*['"]?([^'")]+)|@import\s+['"]([^'"]+)""")
SEARCH_INDEX = "search/search_index.json"


@dataclass(frozen=True)
class Reference:
    """A link of a file to another one."""

    line: int
    url: str
    fetched: bool  # a browser fetches it by itself


@dataclass
class Document:
    """What the check knows of a file of the site: its links, and the anchors that it has."""

    references: list[Reference] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)


class Reader(HTMLParser):
    """Reads a page or a picture into a Document."""

    def __init__(self) -> None:
        super().__init__()
        self.document = Document()
        self.in_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.in_style = tag == "style"
        for name, value in attrs:
            name, value = name.removeprefix("xlink:"), value or ""
            if name == "id" or (tag, name) == ("a", "name"):
                self.document.anchors.add(value)
            elif name == "style":
                self.style(value)
            elif name == "srcset":
                for candidate in value.split(","):
                    self.refer(candidate.split()[0], fetched=True)
            elif (tag, name) in FETCHED | FOLLOWED:
                self.refer(value, fetched=(tag, name) in FETCHED)

    def handle_endtag(self, tag: str) -> None:
        self.in_style = False

    def handle_data(self, data: str) -> None:
        if self.in_style:
            self.style(data)

    def style(self, text: str) -> None:
        """Notes what a style fetches."""
        for match in IN_STYLE.findall(text):
            self.refer("".join(match), fetched=True)

    def refer(self, url: str, fetched: bool) -> None:
        """Notes a link."""
        self.document.references.append(Reference(self.getpos()[0], url.strip(), fetched))


def read(file: Path) -> Document:
    """Reads a file of the site; one that is neither a page, a picture nor a style has no links."""
    reader = Reader()
    if file.suffix in (".html", ".svg"):
        reader.feed(file.read_text("utf-8"))
        reader.close()
    elif file.suffix == ".css":
        reader.style(file.read_text("utf-8"))
    return reader.document


class Site:
    """A built site: its files, by their paths from its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        paths = sorted(path for path in folder.rglob("*") if path.is_file())
        self.documents = {path.relative_to(folder).as_posix(): read(path) for path in paths}

    def findings(self) -> Iterator[str]:
        """Finds what is wrong with the site."""
        if "index.html" not in self.documents:
            yield f"{self.folder}: no index.html: build the site first, with make site"
            return
        for path, document in self.documents.items():
            for reference in document.references:
                if wrong := self.wrong(path, reference):
                    yield f"{path}:{reference.line}: {wrong}"
        yield from self.unsearchable()

    def wrong(self, path: str, reference: Reference) -> str | None:
        """Returns what is wrong with a link of the file at path, or None."""
        url = reference.url
        scheme, host, to, _, anchor = urlsplit(url)
        if scheme == "data":
            return None
        if scheme or host:
            if not reference.fetched:
                return None
            return f"fetches {url} from another host: copy the file into the site"
        if to.startswith("/"):
            return f"links to {url} from the root of a server, which a disk does not have: make the link relative"
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), unquote(to))) if to else path
        if (self.folder / target).is_dir():
            return f"links to the folder {target}: link to a page in it"
        if target not in self.documents:
            return f"links to {url}, but the site has no {target}: correct the link, or add the page"
        if anchor and unquote(anchor) not in self.documents[target].anchors:
            return f"links to {url}, but {target} has no such anchor: use the id of a heading there"
        return None

    def unsearchable(self) -> Iterator[str]:
        """Finds the pages of which the search index has nothing."""
        if SEARCH_INDEX not in self.documents:
            yield f"{SEARCH_INDEX}: there is no such file: turn the search plugin on in mkdocs.yml"
            return
        index = json.loads((self.folder / SEARCH_INDEX).read_text("utf-8"))
        found = {posixpath.normpath(urlsplit(entry["location"]).path or "index.html") for entry in index["docs"]}
        for path in self.documents:
            if path.endswith(".html") and path not in found:
                yield f"{path}: search does not find this page: remove what excludes it"


def main(arguments: list[str]) -> int:
    """Checks the site in the folder that is given, and returns the exit code."""
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 64
    site = Site(Path(arguments[0]))
    findings = list(site.findings())
    for finding in findings:
        print(finding, file=sys.stderr)
    links = sum(len(document.references) for document in site.documents.values())
    pages = sum(path.endswith(".html") for path in site.documents)
    print(f"site: {'ok' if not findings else 'FAILED'} pages={pages} links={links} wrong={len(findings)}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
