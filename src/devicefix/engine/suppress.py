"""Comments that turn findings off, and which of them do nothing.

``# devicefix: ignore[DVF201] reason`` (its line), ``ignore-next-line[…]``, ``ignore-file[…]``, ``disable[…]`` to
``enable[…]`` (a block), and ``# noqa: DVF201``. Without codes all rules are meant.
"""

from __future__ import annotations

import re
import tokenize
from collections.abc import Sequence
from dataclasses import dataclass, field

from devicefix.findings import Applicability, Finding, Fix
from devicefix.rules.base import Example, Rule
from devicefix.source.lines import LineIndex
from devicefix.source.text import SourceText

_OWN = re.compile(
    r"#\s*devicefix\s*:\s*(?P<kind>ignore-next-line|ignore-file|ignore|disable|enable)\b(?!-)"
    r"\s*(?:\[(?P<codes>[^\]]*)\])?",
    re.IGNORECASE,
)
_NOQA = re.compile(
    r"#\s*noqa\b(?:\s*:\s*(?P<codes>[A-Z]+[0-9]+(?:[\s,]+[A-Z]+[0-9]+)*))?",
    re.IGNORECASE,
)
_MENTIONS = re.compile(r"devicefix\s*:|noqa", re.IGNORECASE)
_OURS = re.compile(r"devicefix\s*:|noqa[^\n]*DVF", re.IGNORECASE)

UNUSED = Rule(
    code="DVF901",
    name="unused-suppression",
    summary="a comment turns off a rule that finds nothing there",
    explanation=(
        "Reports `# devicefix: ignore[…]` and `# noqa: DVF…` comments (and their next-line, block and file forms) that "
        "hide no finding, and codes in them that no rule has.\n\n"
        "A suppression that outlives its fault hides the next one."
    ),
    fix_safety="The fix takes the comment out and is safe: comments do not run.",
    check=lambda facts: iter(()),
    examples=(Example("x = 1  # devicefix: ignore[DVF201]\n", "x = 1\n"),),
    silent=("x = 1  # an ordinary comment\n",),
)


@dataclass
class Directive:
    """One suppression comment: what it turns off, on which lines, and what it was used for."""

    kind: str
    codes: tuple[str, ...]  #: empty: all
    first: int  #: first line that it covers
    last: int  #: last line
    start: int  #: offset of the comment
    end: int
    used: set[str] = field(default_factory=set)

    def covers(self, code: str, name: str, first: int, last: int) -> bool:
        """Whether it turns off a finding on these lines."""
        if self.first > last or self.last < first:
            return False
        return not self.codes or any(means(selector, code, name) for selector in self.codes)


def means(selector: str, code: str, name: str) -> bool:
    """Whether a code, a prefix of one, or a name in a comment means this rule."""
    return selector == name or (selector.startswith("DVF") and code.startswith(selector))


def directives(source: SourceText) -> list[Directive]:
    """The suppression comments of a source, block by block."""
    if not _MENTIONS.search(source.text):
        return []
    found: list[Directive] = []
    open_blocks: list[Directive] = []
    code_lines, comments = _comments(source)
    end_of_file = len(source.lines) + 1
    for offset, text in comments:
        line = source.lines.line_of(offset)
        for match in _OWN.finditer(text):
            kind = match["kind"].lower()
            codes = _codes(match["codes"])
            place = (offset, offset + len(text))
            if kind == "enable":
                _close(open_blocks, codes, line)
            elif kind == "disable":
                block = Directive(kind, codes, line, end_of_file, *place)
                open_blocks.append(block)
                found.append(block)
            elif kind == "ignore-file":
                found.append(Directive(kind, codes, 1, end_of_file, *place))
            elif kind == "ignore-next-line":
                following = next((n for n in code_lines if n > line), line + 1)
                found.append(Directive(kind, codes, following, following, *place))
            else:
                found.append(Directive(kind, codes, line, line, *place))
        for match in _NOQA.finditer(text):
            found.append(Directive("noqa", _codes(match["codes"]), line, line, offset, offset + len(text)))
    return found


def only_for_others(source: SourceText) -> bool:
    """Whether no comment speaks to this tool by name; a bare ``noqa`` is of interest only where there is a finding."""
    text = source.text.lower()
    if "devicefix" not in text and "dvf" not in text:  # far quicker than the pattern
        return True
    return _OURS.search(source.text) is None


def _close(open_blocks: list[Directive], codes: tuple[str, ...], line: int) -> None:
    for block in list(open_blocks):
        if not codes or (block.codes and set(block.codes) <= set(codes)):
            block.last = line
            open_blocks.remove(block)


def _codes(text: str | None) -> tuple[str, ...]:
    found = [part for part in re.split(r"[\s,]+", text or "") if part]
    return tuple(c.upper() if c.upper().startswith("DVF") else c.lower().replace("_", "-") for c in found)


def _comments(source: SourceText) -> tuple[list[int], list[tuple[int, str]]]:
    """The lines that hold code, and the comments with their offsets."""
    text = re.sub(r"\r(?!\n)", "\n", source.python_text)
    index = LineIndex(text)
    rows = iter([text[index.start(n) : index.next_start(n)] for n in range(1, len(index) + 1)] + [""])
    code: set[int] = set()
    comments: list[tuple[int, str]] = []
    layout = (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    try:
        for token in tokenize.generate_tokens(rows.__next__):
            if token.type == tokenize.COMMENT:
                comments.append((index.start(token.start[0]) + token.start[1], token.string.rstrip("\r")))
            elif token.type not in layout:
                code.add(token.start[0])
    except (tokenize.TokenError, SyntaxError):
        pass  # what was read so far still counts
    return sorted(code), comments


def ignores_file(found: Sequence[Directive]) -> bool:
    """Whether a comment turns the whole file off."""
    return any(d.kind == "ignore-file" and not d.codes for d in found)


def without_suppressed(source: SourceText, findings: Sequence[Finding], found: Sequence[Directive]) -> list[Finding]:
    """The findings that no comment turns off; the comments remember what they were used for."""
    if not found:
        return list(findings)
    kept = []
    for finding in findings:
        first = source.lines.line_of(source.offset_at(finding.span.start, finding.span.cell))
        last = source.lines.line_of(source.offset_at(finding.span.end, finding.span.cell))
        hits = [d for d in found if d.covers(finding.code, finding.name, first, last)]
        for directive in hits:
            directive.used.add(finding.code)
        if not hits:
            kept.append(finding)
    return kept


def unused(
    source: SourceText, found: Sequence[Directive], active: Sequence[Rule], known: Sequence[Rule]
) -> list[Finding]:
    """A finding for each comment that did nothing; only rules that ran can be known to be silent."""
    made = []
    for directive in found:
        message = _complaint(directive, active, known)
        if not message:
            continue
        fix = None
        comment = source.text[directive.start : directive.end]
        if _is_whole_comment(comment) and not directive.used:
            from devicefix.codemods.changes import RemoveComment

            fix = Fix("remove the comment", Applicability.SAFE, (RemoveComment(directive.start, directive.end),))
        made.append(
            Finding(
                UNUSED.code,
                UNUSED.name,
                message,
                source.name,
                source.span_of(directive.start, directive.end),
                fix,
                note="" if fix else "take the code out of the comment by hand",
            )
        )
    return made


def _complaint(directive: Directive, active: Sequence[Rule], known: Sequence[Rule]) -> str:
    ours = [c for c in directive.codes if directive.kind != "noqa" or c.startswith("DVF")]
    unknown = [c for c in ours if not any(means(c, r.code, r.name) for r in known)]
    if unknown:
        return f"no rule is called {_listed(unknown)}"
    if not directive.codes:
        if directive.used or directive.kind in ("noqa", "ignore-file"):
            return ""
        return "the comment turns nothing off"
    used = [rule for rule in active if rule.code in directive.used]
    running = [c for c in ours if any(means(c, r.code, r.name) for r in active)]
    idle = [c for c in running if not any(means(c, r.code, r.name) for r in used)]
    return f"the comment turns off {_listed(idle)}, which finds nothing here" if idle else ""


def _listed(codes: Sequence[str]) -> str:
    return ", ".join(f"`{code}`" for code in codes)


def _is_whole_comment(comment: str) -> bool:
    """Whether the comment holds one directive and a reason, and nothing that other tools read."""
    rest = comment[1:]
    return (
        "#" not in rest
        and len(_OWN.findall(comment)) + len(_NOQA.findall(comment)) == 1
        and (_OWN.match(comment) is not None or _only_our_codes(comment))
    )


def _only_our_codes(comment: str) -> bool:
    match = _NOQA.match(comment)
    return match is not None and all(code.startswith("DVF") for code in _codes(match["codes"]))
