"""What the README and the documentation show is what the program does now."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import build_docs  # noqa: E402
from docs_blocks import Page, PageError, needs, workplace  # noqa: E402

PAGES = build_docs.written_pages()


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_a_page_shows_what_really_happens(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for module in needs(text):
        pytest.importorskip(module)
    assert build_docs.render(path) == text, "run scripts/build_docs.py"


def test_the_rule_pages_are_up_to_date() -> None:
    assert [name(path) for path in build_docs.stale_rule_pages()] == []


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_links_inside_the_repository_lead_somewhere(path: Path) -> None:
    text = re.sub(r"^(`{3,}).*?^\1$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", text):
        assert (path.parent / target).exists(), f"{name(path)} links to {target}, which is not there"


def test_every_page_is_in_the_navigation() -> None:
    assert build_docs.navigation() == (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), "run scripts/build_docs.py"
    listed = set(re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8")))
    there = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert there == listed


@pytest.mark.parametrize("path", [*PAGES, *build_docs.rule_pages()], ids=name)
def test_shown_programs_are_python(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for block in re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        if not block.startswith("%"):
            ast.parse(block)


@pytest.mark.parametrize("path", [path for path in PAGES if path.parent.name != "editors"], ids=name)
def test_shown_settings_are_valid(path: Path, tmp_path: Path) -> None:
    from devicefix.config.load import load

    text = path.read_text(encoding="utf-8")
    for number, block in enumerate(re.findall(r"^```toml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)):
        file = tmp_path / str(number) / ("pyproject.toml" if "[tool.devicefix" in block else "devicefix.toml")
        file.parent.mkdir()
        file.write_text(block, encoding="utf-8")
        assert load(file)


@pytest.mark.parametrize(("text", "message"), [
    ("<!-- output: true -->\nno end\n", "no <!-- end -->"),
    ("<!-- table: nothing -->\n<!-- end -->\n", "no table nothing"),
    ("<!-- write: a.py -->\nno code\n", "no code block"),
    ("<!-- output: python -c 'import nothing_of_this_name' -->\n<!-- end -->\n", "No module named"),
])  # fmt: skip
def test_a_broken_page_is_refused(text: str, message: str) -> None:
    with workplace() as work, pytest.raises(PageError, match=message):
        Page(text, {}, work).render()


def test_generated_parts_are_replaced_and_the_rest_stays() -> None:
    text = "a\n<!-- write: x.py -->\n```python\nprint(2)\n```\n<!-- output: python x.py -->\nold\n<!-- end -->\nz\n"
    expected = text.replace("old", "```console\n$ python x.py\n2\n```")
    with workplace() as work:
        assert Page(text, {}, work).render() == expected
    with workplace() as work:
        assert Page(expected, {}, work).render() == expected


def test_a_marker_inside_a_code_block_is_text() -> None:
    text = "````markdown\n<!-- output: echo no -->\n````\n"
    with workplace() as work:
        assert Page(text, {}, work).render() == text
