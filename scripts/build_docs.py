"""Make every shown output, table and rule page of the documentation.

    python scripts/build_docs.py [PAGE]...   # write (all pages, or those named)
    python scripts/build_docs.py --check     # write nothing, exit 1 when a page would change

Pages are README.md, CONTRIBUTING.md and the files of docs/. Rule pages are made whole; of the others only the parts
between markers are (see docs_blocks.py).
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "scripts")]

from docs_blocks import Page, PageError, needs, workplace  # noqa: E402
from docs_tables import TABLES, rule_page  # noqa: E402

from devicefix.engine.check import known_rules  # noqa: E402

RULES = ROOT / "docs" / "rules"


def written_pages() -> list[Path]:
    """The pages that people write, with generated parts in them."""
    top = [path for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md") if path.exists()]
    pages = sorted((ROOT / "docs").rglob("*.md"))
    return top + [path for path in pages if path.parent != RULES or path.name == "index.md"]


def rule_pages() -> dict[Path, str]:
    """The pages that are made whole, with what belongs into them."""
    return {RULES / f"{rule.code.lower()}.md": rule_page(rule) for rule in known_rules()}


def render(path: Path) -> str:
    """A written page with its generated parts made anew. Raises `PageError`."""
    try:
        with workplace() as work:
            return Page(path.read_text(encoding="utf-8"), TABLES, work).render()
    except PageError as error:
        raise PageError(f"{path.relative_to(ROOT)}: {error}") from None


def stale_rule_pages() -> list[Path]:
    """Rule pages that are not what the rules say, and pages of rules that are gone."""
    expected = rule_pages()
    there = {path for path in RULES.glob("*.md") if path.name != "index.md"}
    changed = [path for path, text in expected.items() if path not in there or path.read_text("utf-8") != text]
    return sorted([*changed, *(there - expected.keys())])


def navigation() -> str:
    """mkdocs.yml with a line for the page of every rule."""
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    lines = "".join(f"      - rules/{rule.code.lower()}.md\n" for rule in known_rules())
    return re.sub(r"(?<=      - rules/index\.md\n)(?:      - rules/\w+\.md\n)*", lines, text)


def build(pages: list[Path]) -> None:
    """Write the rule pages and the given pages."""
    RULES.mkdir(parents=True, exist_ok=True)
    for path in stale_rule_pages():
        text = rule_pages().get(path)
        if text is None:
            path.unlink()
        else:
            path.write_text(text, encoding="utf-8")
    (ROOT / "mkdocs.yml").write_text(navigation(), encoding="utf-8")
    for path in pages:
        path.write_text(render(path), encoding="utf-8")


def main() -> int:
    """Run the command line; the exit code."""
    parser = argparse.ArgumentParser(description="Make the generated parts of the documentation.")
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 when a page would change")
    parser.add_argument("--without-torch", action="store_true", help="leave out the pages that execute programs")
    parser.add_argument("pages", nargs="*", type=Path)
    arguments = parser.parse_args()
    pages = [path.resolve() for path in arguments.pages] or written_pages()
    if arguments.without_torch:
        pages = [path for path in pages if "torch" not in needs(path.read_text(encoding="utf-8"))]
    try:
        if not arguments.check:
            build(pages)
            return 0
        stale = stale_rule_pages() + [path for path in pages if render(path) != path.read_text(encoding="utf-8")]
    except PageError as error:
        print(error, file=sys.stderr)
        return 2
    if navigation() != (ROOT / "mkdocs.yml").read_text(encoding="utf-8"):
        stale.append(ROOT / "mkdocs.yml")
    for path in stale:
        print(f"{path.relative_to(ROOT)} is out of date; run scripts/build_docs.py")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
