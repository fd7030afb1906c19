"""Judging the tool on one case."""

from __future__ import annotations

import difflib
import importlib.util
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from fixture_cases import Case, notebook_cells
from program_runs import SILENT_CELL_MAGICS, difference, python_of_notebook, run_program
from untouched_text import damage

if TYPE_CHECKING:
    from tool_port import Found

#: Starts an accelerator with so many cards for the length of a ``with`` block.
Accelerator = Callable[[int], AbstractContextManager[Any]]

CARDS = 2


class Tool(Protocol):
    """What is judged; ``tool_port`` is the real one."""

    def check(self, path: Path) -> list[Found]: ...

    def fix(self, path: Path, *, unsafe: bool) -> bytes: ...


@dataclass(slots=True)
class Verdict:
    """How the tool did on one case."""

    case: Case
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    findings: list[Found] = field(default_factory=list)
    text: bytes = b""  #: what the tool made of ``before``
    diff: str = ""  #: from ``after`` to the tool's text where they differ

    @property
    def passed(self) -> bool:
        return not self.problems


def simulated() -> Accelerator | None:
    """The simulated accelerator, if torch is there and has no real one."""
    if importlib.util.find_spec("torch") is None:
        return None
    import torch

    from devicefix.verify import simulated_accelerator

    return None if torch.cuda.is_available() else lambda cards: simulated_accelerator("cuda", count=cards)


@contextmanager
def workspace(case: Case, text: bytes | None = None) -> Iterator[Path]:
    """A folder with the program (``text`` instead of ``before`` if given) and its helpers; yields the program's path."""
    with tempfile.TemporaryDirectory(prefix="case-") as name:
        folder = Path(name).resolve()
        path = folder / case.before.name
        path.write_bytes(case.before.read_bytes() if text is None else text)
        for helper in case.helpers:
            shutil.copy(helper, folder / helper.name)
        yield path


def judge(case: Case, tool: Tool, accelerator: Accelerator | None = None, *, run: bool = True) -> Verdict:
    """Run the tool on ``case`` and hold the result against the expectation.

    Programs run only where the rewrite is not ``after`` to the letter. ``accelerator`` adds the run on a (simulated)
    card; ``run=False`` judges texts only.
    """
    verdict = Verdict(case)
    with workspace(case) as path:
        verdict.findings = tool.check(path)
        safe = tool.fix(path, unsafe=False)
        before = path.read_bytes()
        # cases from elsewhere name no rules and do not say whether their repair is a safe one
        unsafe_needed = case.unsafe or (not case.rules and case.expect == "fix" and safe == before)
        verdict.text = tool.fix(path, unsafe=True) if unsafe_needed or case.expect == "clean" else safe
    if case.expect == "clean":
        _judge_clean(verdict, before, safe)
    elif case.expect == "report":
        _judge_report(verdict, before, safe)
    else:
        _judge_fix(verdict, before, safe, accelerator, run)
        if unsafe_needed and not case.unsafe:
            verdict.notes.append("only with --unsafe-fixes")
    for text in {safe, verdict.text} - {before}:
        verdict.problems += text_problems(case, before, text)
    if verdict.text != before:
        verdict.problems += second_run_problems(case, tool, verdict.text, unsafe=unsafe_needed)
    return verdict


def _judge_clean(verdict: Verdict, before: bytes, safe: bytes) -> None:
    for found in verdict.findings:
        verdict.problems.append(f"false alarm {found.code} ({found.applicability}) line {found.line}: {found.message}")
    if {safe, verdict.text} != {before}:
        verdict.problems.append("rewritten although nothing is wrong")
        verdict.diff = text_diff(verdict.case, before, verdict.text if safe == before else safe, "before")


def _judge_report(verdict: Verdict, before: bytes, safe: bytes) -> None:
    _judge_codes(verdict)
    if safe != before:
        verdict.problems.append("rewritten without --unsafe-fixes although only a report is right")
        verdict.diff = text_diff(verdict.case, before, safe, "before")


def _judge_codes(verdict: Verdict) -> None:
    codes = {found.code for found in verdict.findings}
    if not codes:
        verdict.problems.append("no finding")
    elif verdict.case.rules and not codes & set(verdict.case.rules):
        verdict.problems.append(f"found {', '.join(sorted(codes))} instead of {' or '.join(verdict.case.rules)}")


def _judge_fix(verdict: Verdict, before: bytes, safe: bytes, accelerator: Accelerator | None, run: bool) -> None:
    case, text = verdict.case, verdict.text
    _judge_codes(verdict)
    assert case.after is not None, f"{case.name} expects a fix and has no after"
    wanted = case.after.read_bytes()
    if text == wanted:
        return
    verdict.diff = text_diff(case, wanted, text, "after")
    if text == before:
        verdict.problems.append("not rewritten")
        return
    behaviour = behaviour_problems(case, text, accelerator) if run and not case.is_static else []
    if case.compare == "text" or case.is_static:
        works = ", but behaves right" if run and not case.is_static and not behaviour else ""
        verdict.problems.append(f"the text is not that of after{works}")
    verdict.problems += behaviour
    if case.unsafe and safe not in (before, text):
        verdict.problems += [
            f"without --unsafe-fixes: {problem}" for problem in behaviour_problems(case, safe, accelerator)
        ]


def text_problems(case: Case, before: bytes, text: bytes) -> list[str]:
    """What is wrong with ``text`` as a rewrite of ``before``, whatever it does."""
    if case.is_notebook:
        return _notebook_problems(before.decode("utf-8"), text.decode("utf-8"))
    try:
        compile(text, case.before.name, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        return [f"the result does not compile: {error}"]
    return damage(before, text)


def _notebook_problems(before: str, after: str) -> list[str]:
    frames = []
    for text in (before, after):
        notebook = json.loads(text)
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                cell["source"] = None
        frames.append(notebook)
    problems = [] if frames[0] == frames[1] else ["something besides the source of code cells changed"]
    for number, (old, new) in enumerate(zip(notebook_cells(before), notebook_cells(after), strict=False), start=1):
        if old != new and old.startswith("%%") and not old.startswith(SILENT_CELL_MAGICS):
            problems.append(f"code cell {number} is not Python and changed")
    try:
        compile(python_of_notebook(after), "notebook", "exec")
    except SyntaxError as error:
        problems.append(f"the result does not compile: {error}")
    return problems


def second_run_problems(case: Case, tool: Tool, text: bytes, *, unsafe: bool) -> list[str]:
    """A second run must change nothing."""
    with workspace(case, text) as path:
        again = tool.fix(path, unsafe=unsafe)
    if again == text:
        return []
    return ["a second run changes the result again:\n" + text_diff(case, text, again, "first run")]


def behaviour_problems(case: Case, text: bytes, accelerator: Accelerator | None = None) -> list[str]:
    """How the rewritten program differs from ``before`` and ``after`` where they run."""
    problems = []
    assert case.after is not None
    entries = ["run", "run_bf16"] if case.bf16 else ["run"]
    for entry in entries:
        wanted, error = _try(case, case.after.read_bytes(), "cpu", entry)
        if error is not None and not case.runs_before("cpu"):
            # made for two cards: neither the answer nor ours can run on the CPU
            problems += _only_on_cards(case, text, accelerator, entry)
            continue
        assert error is None, f"{case.name}: after fails on the CPU: {_line(error)}"
        got, error = _try(case, text, "cpu", entry)
        if error is not None:
            problems.append(f"{entry} fails on the CPU: {_line(error)}")
            continue
        if found := difference(wanted, got):
            problems.append(f"{entry} on the CPU, after against ours: {found}")
        if case.runs_before("cpu") and entry == "run":
            original, error = _try(case, case.before.read_bytes(), "cpu", entry)
            if error is None and (found := difference(original, got)):
                problems.append(f"{entry} on the CPU, before against ours: {found}")
        if accelerator is not None:
            with accelerator(CARDS):
                there, error = _try(case, text, case.cuda_device, entry)
            if error is not None:
                problems.append(f"{entry} fails on the accelerator: {_line(error)}")
            elif found := difference(wanted, there):
                problems.append(f"{entry}, CPU against accelerator: {found}")
    return problems


def _only_on_cards(case: Case, text: bytes, accelerator: Accelerator | None, entry: str) -> list[str]:
    """How ours differs from ``after`` on the accelerator, for programs that no CPU can run."""
    if accelerator is None:
        return []
    assert case.after is not None
    with accelerator(CARDS):
        wanted, error = _try(case, case.after.read_bytes(), case.cuda_device, entry)
        assert error is None, f"{case.name}: after fails on the accelerator: {_line(error)}"
        got, error = _try(case, text, case.cuda_device, entry)
        if error is not None:
            return [f"{entry} fails on the accelerator: {_line(error)}"]
        found = difference(wanted, got)
    return [f"{entry} on the accelerator, after against ours: {found}"] if found else []


def _try(case: Case, text: bytes, device: str, entry: str) -> tuple[Any, Exception | None]:
    with workspace(case, text) as path:
        try:
            return run_program(path, device, entry), None
        except Exception as error:
            return None, error


def _line(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"


def text_diff(case: Case, old: bytes, new: bytes, old_name: str) -> str:
    """A unified diff from ``old`` to what the tool made."""
    texts = [raw.decode("utf-8") for raw in (old, new)]
    if case.is_notebook:
        texts = ["\n# %%\n".join(notebook_cells(text)) for text in texts]
    left, right = (text.splitlines(keepends=True) for text in texts)
    lines = difflib.unified_diff(left, right, old_name, "ours", n=1)
    return "".join(line if line.endswith("\n") else line + "\n" for line in lines)
