"""Code actions: which there are at a place, and what each does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lsprotocol import types as t

from devicefix.engine.suppress import UNUSED
from devicefix.findings import Applicability
from devicefix.lsp import fixes, refactor
from devicefix.lsp.diagnostics import diagnostics
from devicefix.lsp.positions import Encoding, Places
from devicefix.lsp.sources import Locator

if TYPE_CHECKING:
    from devicefix.lsp.capabilities import Client
    from devicefix.lsp.checker import Checked, Checker, Placed
    from devicefix.lsp.fixes import PartEdits

QUICK_FIX = t.CodeActionKind.QuickFix.value
FIX_ALL = "source.fixAll.devicefix"
NOTEBOOK_FIX_ALL = "notebook.source.fixAll.devicefix"
REWRITE = "refactor.rewrite.devicefix"
KINDS = (QUICK_FIX, FIX_ALL, NOTEBOOK_FIX_ALL, REWRITE)
MANY = 8  #: with more findings in the range, nobody wants an "ignore" for each


@dataclass(frozen=True)
class Offer:
    """An action before its edit is known. ``what`` is all that is needed to make it."""

    title: str
    kind: str
    what: dict[str, Any]
    diagnostic: t.Diagnostic | None = None
    preferred: bool = False
    whole_file: bool = False
    rare: bool = False  #: chosen so seldom that its edit is not worth making beforehand


def wanted(only: Sequence[str | t.CodeActionKind] | None, kind: str) -> bool:
    """Whether a client that asks for these kinds wants this one. Kinds of notebooks must be asked for."""
    if not only:
        return not kind.startswith("notebook.")
    names = [str(getattr(name, "value", name)) for name in only]
    return any(name in ("", kind) or kind.startswith(name + ".") for name in names)


def offers(checked: Checked, params: t.CodeActionParams, client: Client, encoding: Encoding) -> list[Offer]:
    """The actions at a place, the best ones first."""
    if checked.result is None or checked.stale:
        return []
    only, uri = params.context.only, params.text_document.uri
    start, end = Locator(checked.snapshot, encoding).span(uri, params.range)
    here = _findings_at(checked, params, start, end, client, encoding)
    made: list[Offer] = []
    if wanted(only, QUICK_FIX):
        made += _quick_fixes(checked, here) + _ignores(here)
    made += _whole_file(checked, only)
    if wanted(only, REWRITE):
        made += _rewrites(checked, start, end, bool(here))
    return made


Here = list[tuple[int, "Placed", t.Diagnostic]]


def _findings_at(
    checked: Checked, params: t.CodeActionParams, start: int, end: int, client: Client, encoding: Encoding
) -> Here:
    """Findings in the range, and those whose diagnostic the editor names (some send those of the whole line)."""
    uri = params.text_document.uri
    named = {_key(diagnostic) for diagnostic in params.context.diagnostics}
    shown = iter(diagnostics(checked, client, encoding)[uri])
    locator = Locator(checked.snapshot, encoding)
    found: Here = []
    for index, placed in enumerate(checked.placed):
        if locator.locate(placed.start, placed.start)[0].uri != uri:
            continue
        diagnostic = next(shown)
        if (placed.start <= end and start <= placed.end) or _key(diagnostic) in named:
            found.append((index, placed, diagnostic))
    return found


def _key(diagnostic: t.Diagnostic) -> tuple[Any, ...]:
    start, end = diagnostic.range.start, diagnostic.range.end
    return diagnostic.code, start.line, start.character, end.line, end.character


def _quick_fixes(checked: Checked, here: Here) -> list[Offer]:
    safe: list[Offer] = []
    unsafe: list[Offer] = []
    for index, placed, diagnostic in here:
        finding = placed.finding
        if finding.fix is None:
            continue
        title = finding.fix.title
        together = len(fixes.members(checked, finding))
        if together > 1:
            title += f" ({together} places)"
        reason = fixes.doubt(checked, finding)
        what = {"do": "fix", "index": index}
        if reason:
            unsafe.append(Offer(f"devicefix: {title} (unsafe: {reason})", QUICK_FIX, what, diagnostic))
        else:
            safe.append(Offer(f"devicefix: {title}", QUICK_FIX, what, diagnostic, preferred=True))
    return _once(safe + unsafe)


def _once(made: Iterable[Offer]) -> list[Offer]:
    """Fixes that are made together are offered once."""
    return list({offer.title: offer for offer in reversed(list(made))}.values())[::-1]


def _ignores(here: Here) -> list[Offer]:
    if len(here) > MANY:
        return []
    return [
        Offer(
            f"devicefix: ignore {placed.finding.code} here",
            QUICK_FIX,
            {"do": "ignore", "index": index},
            diagnostic,
            rare=True,
        )
        for index, placed, diagnostic in here
        if placed.finding.code != UNUSED.code
    ]


def _whole_file(checked: Checked, only: Sequence[str | t.CodeActionKind] | None) -> list[Offer]:
    assert checked.result is not None
    if not any(finding.applicability is Applicability.SAFE for finding in checked.result.findings):
        return []
    made = []
    if wanted(only, FIX_ALL) and (only or not checked.snapshot.is_notebook):
        where = "cell" if checked.snapshot.is_notebook else "file"
        what = {"do": "cell" if checked.snapshot.is_notebook else "all"}
        made.append(Offer(f"devicefix: make all safe fixes in this {where}", FIX_ALL, what, whole_file=True))
    if checked.snapshot.is_notebook and wanted(only, NOTEBOOK_FIX_ALL):
        title = "devicefix: make all safe fixes in this notebook"
        made.append(Offer(title, NOTEBOOK_FIX_ALL, {"do": "all"}, whole_file=True))
    return made


def _rewrites(checked: Checked, start: int, end: int, on_finding: bool) -> list[Offer]:
    """Rewrites at the cursor. One for the whole file at every place would put a light bulb on every line."""
    made = []
    for name in refactor.attributes_at(checked, start, end):
        what = {"do": "buffer", "start": start, "end": end, "name": name}
        made.append(Offer(f"devicefix: register `{name}` as a buffer", REWRITE, what))
    if refactor.names_devices(checked, start, end):
        title = "devicefix: use one device variable in this file"
        made.append(Offer(title, REWRITE, {"do": "device"}, whole_file=True))
    if on_finding and any(placed.finding.applicability is Applicability.UNSAFE for placed in checked.placed):
        title = "devicefix: make all fixes in this file, unsafe ones too"
        made.append(Offer(title, REWRITE, {"do": "unsafe"}, whole_file=True))
    return made


def carry_out(checked: Checked, checker: Checker, uri: str, what: dict[str, Any]) -> list[PartEdits]:
    """The edits of an action. Runs in the worker's thread. Raises `CannotFix`."""
    do = what.get("do")
    if do in ("fix", "ignore"):
        finding = checked.placed[int(what["index"])].finding
        return fixes.fix_one(checked, finding) if do == "fix" else fixes.ignore(checked, finding)
    if do == "all":
        return fixes.fix_all(checked, checker)
    if do == "cell":
        return fixes.fix_part(checked, uri)
    if do == "unsafe":
        return fixes.fix_all(checked, checker, unsafe=True)
    if do == "device":
        return fixes.fix_all(checked, checker, unsafe=True, only=(refactor.ONE_DEVICE,))
    if do == "buffer":
        changes = refactor.buffer_at(checked, int(what["start"]), int(what["end"]), str(what["name"]))
        return fixes.change(checked, changes) if changes else []
    raise ValueError(f"no such action: {do}")


def workspace_edit(made: Sequence[PartEdits], client: Client, encoding: Encoding) -> t.WorkspaceEdit:
    """Edits as the editor takes them, with versions if it looks at them."""
    texts: dict[str, list[t.TextEdit]] = {}
    for part_edits in made:
        places = Places(part_edits.part.text, encoding)
        texts[part_edits.part.uri] = [
            t.TextEdit(places.range(edit.start, edit.end), edit.replacement) for edit in part_edits.edits
        ]
    if not client.versioned:
        return t.WorkspaceEdit(changes=texts)
    changes: list[t.TextDocumentEdit | t.CreateFile | t.RenameFile | t.DeleteFile] = [
        t.TextDocumentEdit(
            t.OptionalVersionedTextDocumentIdentifier(uri=part_edits.part.uri, version=part_edits.part.version),
            list(texts[part_edits.part.uri]),
        )
        for part_edits in made
    ]
    return t.WorkspaceEdit(document_changes=changes)
