"""Tests of check.py: a small site passes, and each fault in it is found."""

import json
import tempfile
import unittest
from pathlib import Path

from check import SEARCH_INDEX, Site

GOOD = {
    "index.html": '<link rel="stylesheet" href="a/site.css"><h1 id="top">A</h1><a href="b.html#there">b</a>'
    '<img src="a/p.svg"><a href="https://example.org/">elsewhere</a><a href="#top">up</a><img src="data:,">',
    "b.html": '<h2 id="there">B</h2><a href="index.html?h=word#top">a</a>',
    "a/site.css": "p { background: url(p.svg) }",
    "a/p.svg": '<svg xmlns="http://www.w3.org/2000/svg"><style>a { fill: url(#g) }</style><linearGradient id="g"/></svg>',
    SEARCH_INDEX: json.dumps({"docs": [{"location": "index.html"}, {"location": "b.html"}, {"location": "b.html#there"}]}),
}


class TestSite(unittest.TestCase):
    def findings(self, **changed: str | None) -> list[str]:
        """Returns what is found in the good site with these files changed, or, where None, left out."""
        with tempfile.TemporaryDirectory() as folder:
            for path, text in (GOOD | changed).items():
                if text is not None:
                    file = Path(folder, path)
                    file.parent.mkdir(exist_ok=True)
                    file.write_text(text, "utf-8")
            return list(Site(Path(folder)).findings())

    def finds(self, expected: str, **changed: str | None) -> None:
        found = self.findings(**changed)
        self.assertEqual(len(found), 1, found)
        self.assertIn(expected, found[0])

    def test_a_good_site_passes(self) -> None:
        self.assertEqual(self.findings(), [])

    def test_dead_links(self) -> None:
        self.finds("b.html:2: links to c.html, but the site has no c.html", **{"b.html": '<p id="there">\n<a href="c.html">'})
        self.finds("b.html:1: links to index.html#x, but index.html has no such anchor", **{"b.html": '<a id="there" href="index.html#x">'})
        self.finds("b.html:1: links to #x, but b.html has no such anchor", **{"b.html": '<a id="there" href="#x">'})
        self.finds("b.html:1: links to a/q.svg", **{"b.html": '<img id="there" src="a/q.svg">'})
        self.finds("a/site.css:1: links to q.svg", **{"a/site.css": "p { background: url('q.svg') }"})

    def test_links_that_need_a_server(self) -> None:
        self.finds("links to the folder a", **{"b.html": '<a id="there" href="a/">'})
        self.finds("links to the folder .", **{"b.html": '<a id="there" href=".">'})
        self.finds("links to /index.html from the root", **{"b.html": '<a id="there" href="/index.html">'})

    def test_other_hosts(self) -> None:
        for fetched in (
            '<script src="https://example.org/a.js"></script>',
            '<link rel="stylesheet" href="//example.org/a.css">',
            '<img src="https://example.org/a.png">',
            '<img srcset="https://example.org/a.png 2x">',
            '<p style="background: url(https://example.org/a.png)">',
            "<style>@import 'https://example.org/a.css';</style>",
        ):
            with self.subTest(fetched):
                self.finds("from another host", **{"b.html": '<p id="there">' + fetched})
        self.finds("from another host", **{"a/site.css": "@font-face { src: url(https://example.org/a.woff2) }"})
        self.finds("from another host", **{"a/p.svg": '<svg><image xlink:href="https://example.org/a.png"/></svg>'})

    def test_pages_that_search_does_not_find(self) -> None:
        self.finds("c.html: search does not find", **{"c.html": "<p>"})
        self.finds("there is no such file", **{SEARCH_INDEX: None})

    def test_a_folder_without_a_site(self) -> None:
        self.finds("build the site first", **{"index.html": None})


if __name__ == "__main__":
    unittest.main()
