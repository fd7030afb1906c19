"""What a rule says, where it found something and where a comment turns it off."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lsprotocol import types as t

from devicefix.engine.check import known_rules
from devicefix.engine.selection import find
from devicefix.findings import Applicability, Finding
from devicefix.lsp.fixes import doubt
from devicefix.lsp.sources import Locator

if TYPE_CHECKING:
    from devicefix.lsp.capabilities import Client
    from devicefix.lsp.checker import Checked
    from devicefix.lsp.positions import Encoding

_COMMENT = re.compile(r"#.*(?:devicefix\s*:|noqa\s*:)[^\n]*", re.IGNORECASE)


def hover(checked: Checked, params: t.HoverParams, client: Client, encoding: Encoding) -> t.Hover | None:
    """The pages of the rules at a place; None where there is nothing."""
    if not checked.snapshot.parts:
        return None
    locator = Locator(checked.snapshot, encoding)
    uri, here = params.text_document.uri, params.position
    offset, _ = locator.span(uri, t.Range(here, here))
    touched = [placed for placed in checked.placed if placed.start <= offset <= placed.end]
    pages = {placed.finding.code: _page(checked, placed.finding) for placed in touched}
    place = locator.locate(touched[0].start, touched[0].end)[1] if touched else None
    if not pages:
        pages = _in_comment(checked, offset)
    if not pages:
        return None
    kind = t.MarkupKind.Markdown if client.markdown else t.MarkupKind.PlainText
    return t.Hover(t.MarkupContent(kind, "\n---\n\n".join(pages.values())), place)


def _page(checked: Checked, finding: Finding) -> str:
    return f"{_remedy(checked, finding)}\n\n{_rule_page(finding.code)}"


def _rule_page(code: str) -> str:
    from devicefix.report.rule_page import page

    rule = find(code, known_rules())
    return page(rule) if rule is not None else ""


def _remedy(checked: Checked, finding: Finding) -> str:
    if finding.fix is None:
        return f"No fix: {finding.note}." if finding.note else "There is no automatic fix."
    if finding.applicability is Applicability.SAFE and not doubt(checked, finding):
        return f"Safe fix: {finding.fix.title}."
    return f"Unsafe fix: {finding.fix.title}. {doubt(checked, finding).capitalize()}."


def _in_comment(checked: Checked, offset: int) -> dict[str, str]:
    """The rule that is named under the cursor in a suppression."""
    source = checked.result.source if checked.result is not None else None
    if source is None:
        return {}
    line = source.lines.line_of(offset)
    content, column = source.line(line), offset - source.lines.start(line)
    comment = _COMMENT.search(content)
    if comment is None or column < comment.start():
        return {}
    for word in re.finditer(r"[\w-]+", content):
        if word.start() <= column <= word.end():
            rule = find(word[0], known_rules())
            return {rule.code: _rule_page(rule.code)} if rule is not None else {}
    return {}
