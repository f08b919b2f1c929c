"""Makes a site of the repository's Markdown: a hook of MkDocs.

Every document links to other files as they lie in the repository, which is what GitHub shows. The
site has the documents of docs, and those of the root that PAGES lists. This hook adds these pages
and turns each link between two documents into one between their pages. A link to any other file
leads to that file on GitHub. A link to a file that the repository does not have is a warning, and
so an error of a strict build. Links in HTML stay as they are; check.py finds those that are dead.
"""

import logging
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit
from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.extensions import Extension
from markdown.treeprocessors import Treeprocessor
from markdown.util import AtomicString
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page
from pymdownx.slugs import slugify

log = logging.getLogger("mkdocs.hooks.site")

ROOT = Path(__file__).resolve().parents[2]
DOCS = "docs/"

# The documents of the root that are pages, by their paths in the repository.
PAGES = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
SOURCES = {page: source for source, page in PAGES.items()}

# The pages that no menu lists, and the page that lists them.
DECISIONS = "decisions/"
DECISIONS_INDEX = "decisions/README.md"


def source_of(page: str) -> str:
    """Returns the path in the repository of a page of the site."""
    return SOURCES.get(page, DOCS + page)


def page_of(source: str) -> str | None:
    """Returns the path in the site of a file of the repository, or None if the site does not have it."""
    if source in PAGES:
        return PAGES[source]
    if source.startswith(DOCS) and (ROOT / source).is_file():
        return source.removeprefix(DOCS)
    return None


def anchors(markdown: str) -> set[str]:
    """Returns the anchors that GitHub gives to the headings of a document."""
    slug = slugify(case="lower")
    return {slug(heading.replace("`", ""), "-") for heading in re.findall(r"^#+ +(.+?) *$", markdown, re.MULTILINE)}


def resolve(url: str, page: str, repository: str) -> tuple[str, str | None]:
    """Turns a link of a document into one of its page.

    Args:
        url: the link as the document has it.
        page: the path in the site of the page that the document becomes.
        repository: the address of the repository on GitHub, with a slash at its end.

    Returns:
        The link for the page, and what is wrong with it, or None.
    """
    scheme, host, path, query, anchor = urlsplit(url)
    if scheme or host or not path or path.startswith("/"):
        return url, None
    target = posixpath.normpath(posixpath.join(posixpath.dirname(source_of(page)), unquote(path)))
    if (to := page_of(target)) is not None:
        path = posixpath.relpath(to, posixpath.dirname(page) or ".")
        return urlunsplit(("", "", path, query, anchor)), None
    file = ROOT / target
    kind = "tree" if file.is_dir() else "blob"
    outside = urlunsplit(("", "", f"{repository}{kind}/main/{target}", query, anchor))
    if target.startswith("..") or not file.exists():
        return outside, f"the repository has no {target}: correct the path, or add the file"
    if anchor and file.suffix == ".md" and anchor not in anchors(file.read_text("utf-8")):
        return outside, f"{target} has no heading #{anchor}: use the anchor of one that it has"
    return outside, None


ITEM = re.compile(r"( *)([-*+]|\d+\.) ")


def misread(markdown: str) -> Iterator[tuple[int, str]]:
    """Finds the lines that Python-Markdown reads otherwise than GitHub, and says how to mend each."""
    fenced, before = False, ""
    for number, line in enumerate(markdown.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced and (item := ITEM.match(line)):
            if len(item[1]) % 4:
                yield number, "indent an item within another by four spaces"
            if before and not before.startswith(" ") and not ITEM.match(before):
                yield number, "put an empty line before the list"
        before = line


# A column with a longer cell, in characters, is text to read: it does not shrink to a few words.
LONG_CELL = 60


def mend_table(table: Element) -> None:
    """Marks the columns that are text to read, and drops the backslashes that GitHub needs in code."""
    heads = list(table.iter("th"))
    for row in table.iter("tr"):
        for head, cell in zip(heads, row):
            if len("".join(cell.itertext())) > LONG_CELL:
                head.set("class", "text")
    for code in table.iter("code"):
        code.text = AtomicString((code.text or "").replace("\\|", "|"))


class Links(Treeprocessor):
    """Rewrites the links and pictures of the page that is rendered, and mends its tables."""

    def __init__(self, md: Markdown, extension: "Repository") -> None:
        super().__init__(md)
        self.extension = extension

    def run(self, root: Element) -> None:
        for element in root.iter():
            if element.tag in ("a", "img"):
                self.rewrite(element, "href" if element.tag == "a" else "src")
            elif element.tag == "table":
                mend_table(element)

    def rewrite(self, element: Element, attribute: str) -> None:
        """Rewrites the link in one attribute of an element."""
        page, url = self.extension.page, element.get(attribute, "")
        resolved, wrong = resolve(url, page, self.extension.url)
        if wrong is None and element.tag == "img" and resolved.startswith(self.extension.url):
            wrong = "the site does not have this picture: move it into docs/pictures"
        if wrong is not None:
            log.warning("%s: link '%s': %s", source_of(page), url, wrong)
        element.set(attribute, resolved)


class Repository(Extension):
    """The Markdown extension that rewrites links. It knows the page that MkDocs renders."""

    page = ""  # the path in the site of the page that is rendered
    url = ""  # the address of the repository on GitHub, with a slash at its end

    def extendMarkdown(self, md: Markdown) -> None:
        """Has Links run before MkDocs resolves links itself, which it does at priority 0."""
        md.treeprocessors.register(Links(md, self), "repository", 1)


extension = Repository()


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Adds the Markdown extension, and leaves out the pages that only a server needs."""
    extension.url = config.repo_url.rstrip("/") + "/"
    config.markdown_extensions.append(extension)
    config.theme.static_templates -= {"404.html", "sitemap.xml"}
    config.watch += [str(ROOT / source) for source in PAGES]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages of the root, each with the link that edits its document. A disk needs no sitemap."""
    if sitemap := files.get_file_from_path("sitemap.xml"):
        files.remove(sitemap)
    for source, page in PAGES.items():
        file = File.generated(config, page, abs_src_path=str(ROOT / source))
        file.edit_uri = "../" + source
        files.append(file)
    return files


def on_nav(nav: Navigation, files: Files, **_: object) -> Navigation:
    """Places each decision in the section of their index, and each next to the one before it."""
    index = files.get_file_from_path(DECISIONS_INDEX)
    decisions = [file.page for file in files.documentation_pages() if file.src_uri.startswith(DECISIONS) and file != index]
    for before, page, after in zip([None, *decisions], decisions, [*decisions[1:], None]):
        page.parent, page.previous_page, page.next_page = index.page.parent, before, after
    return nav


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Notes the page that MkDocs renders next, and checks its text."""
    extension.page = page.file.src_uri
    for line, fix in misread(markdown):
        log.warning("%s:%d: %s", source_of(extension.page), line, fix)
    return markdown
