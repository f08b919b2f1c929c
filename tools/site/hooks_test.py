"""Tests of hooks.py, with the documents of the repository."""

import unittest
from xml.etree.ElementTree import fromstring, tostring

from hooks import anchors, mend_table, misread, resolve

GITHUB = "https://github.com/holdfast-locks/holdfast/"


class TestResolve(unittest.TestCase):
    def resolves(self, page: str, url: str, expected: str) -> None:
        self.assertEqual(resolve(url, page, GITHUB), (expected, None))

    def test_links_between_pages(self) -> None:
        self.resolves("index.md", "docs/bench.md#locks-in-a-store-claim", "bench.md#locks-in-a-store-claim")
        self.resolves("index.md", "docs/pictures/handover.svg", "pictures/handover.svg")
        self.resolves("index.md", "CHANGELOG.md", "changelog.md")
        self.resolves("operations.md", "../README.md#where-are-locks-kept", "index.md#where-are-locks-kept")
        self.resolves("design/formats.md", "../limits.md", "../limits.md")
        self.resolves("decisions/README.md", "101-decide.md", "101-decide.md")

    def test_links_to_github(self) -> None:
        self.resolves("quickstart.md", "../examples", GITHUB + "tree/main/examples")
        self.resolves("index.md", "LICENSE", GITHUB + "blob/main/LICENSE")
        self.resolves("bench.md", "../bench/README.md#what-is-compared", GITHUB + "blob/main/bench/README.md#what-is-compared")

    def test_links_that_stay(self) -> None:
        for url in ("#here", "https://example.org/a.md", "mailto:a@example.org"):
            self.resolves("index.md", url, url)

    def test_dead_links(self) -> None:
        for page, url, wrong in (
            ("quickstart.md", "../examples/none.go", "has no examples/none.go"),
            ("quickstart.md", "none.md", "has no docs/none.md"),
            ("index.md", "../elsewhere.md", "has no ../elsewhere.md"),
            ("bench.md", "../bench/README.md#none", "no heading #none"),
        ):
            with self.subTest(url):
                self.assertIn(wrong, resolve(url, page, GITHUB)[1] or "")


class TestText(unittest.TestCase):
    def test_anchors_are_those_of_github(self) -> None:
        found = anchors("# A title\n\n## 7.5. The `exclusion` wait\n\n### Locks in a store: claim\n")
        self.assertEqual(found, {"a-title", "75-the-exclusion-wait", "locks-in-a-store-claim"})

    def test_misread_lists(self) -> None:
        self.assertEqual(list(misread("text\n\n- one\n- two\n    - deep\n\n```\ntext\n- code\n```\n")), [])
        self.assertEqual([line for line, _ in misread("text\n- one\n")], [2])
        self.assertEqual([line for line, _ in misread("```\ncode\n```\n1. one\n")], [4])
        self.assertEqual([line for line, _ in misread("- one\n  - two\n")], [2])

    def test_tables(self) -> None:
        table = fromstring(f"<t><tr><th>a</th><th>b</th></tr><tr><td><code>x\\|y</code></td><td>{'word ' * 20}</td></tr></t>")
        mend_table(table)
        text = tostring(table, "unicode")
        self.assertIn('<th>a</th><th class="text">b</th>', text)
        self.assertIn("<code>x|y</code>", text)


if __name__ == "__main__":
    unittest.main()
