"""How the tool does on a folder of cases, at a glance.

    python tests/fixtures_harness/scoreboard.py [FOLDER ...] [-k WORDS] [-v | -q] [--no-run]

Without a folder, ``tests/fixtures`` is used. A folder may hold cases, folders of cases, or be one case itself.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent / "src")]

import tool_port  # noqa: E402
from fixture_cases import EXPECTATIONS, FIXTURES, Case, discover  # noqa: E402
from judge import Accelerator, Verdict, judge, simulated  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

SHORT_DIFF = 24  #: lines of a diff shown without -v


def main() -> int:
    options = parse_arguments()
    cases = [case for folder in options.folders for case in discover(folder.resolve()) if wanted(case, options.k)]
    if not cases:
        print("no cases")
        return 2
    accelerator = simulated() if options.accelerator and options.run else None
    started = time.perf_counter()
    verdicts = [safely(case, accelerator, options.run) for case in cases]
    seconds = time.perf_counter() - started
    failed = [verdict for verdict in verdicts if not verdict.passed]
    if not options.quiet:
        for verdict in failed:
            show(verdict, options.verbose)
    if options.verbose:
        for verdict in verdicts:
            if verdict.passed:
                show(verdict, verbose=True)
    print(table("family", verdicts, lambda case: str(case.settings.get("family", "-"))))
    print(table("rule", verdicts, rule_of))
    print(f"{len(verdicts) - len(failed)} of {len(verdicts)} pass, {seconds:.1f} s")
    kinds = defaultdict(list)
    for verdict in failed:
        kinds[kind_of_failure(verdict)].append(verdict.case.name)
    for kind, names in sorted(kinds.items(), key=lambda item: -len(item[1])):
        print(f"  {len(names):3}  {kind}")
    return 1 if failed else 0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path, default=[FIXTURES], metavar="FOLDER")
    parser.add_argument(
        "-k",
        default="",
        metavar="WORDS",
        help="cases whose name, rules, family or tags hold every word; a word starting with '-' excludes",
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="whole diffs, findings, and the passing cases too")
    parser.add_argument("-q", "--quiet", action="store_true", help="tables only")
    parser.add_argument("--no-run", dest="run", action="store_false", help="judge texts only, run no program")
    parser.add_argument("--no-accelerator", dest="accelerator", action="store_false", help="run on the CPU only")
    return parser.parse_args()


def wanted(case: Case, words: str) -> bool:
    """Whether ``case`` fits ``-k``."""
    parts = [case.name, case.expect, *case.rules, str(case.settings.get("family", "")), *case.settings.get("tags", ())]
    text = " ".join(parts).lower()
    return all((word[1:] not in text) if word.startswith("-") else word in text for word in words.lower().split())


def safely(case: Case, accelerator: Accelerator | None, run: bool) -> Verdict:
    """A crash of the tool is a failure of this case only."""
    try:
        return judge(case, tool_port, accelerator, run=run)
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        verdict = Verdict(case)
        where = f"{Path(place.filename).name}:{place.lineno}"
        verdict.problems.append(f"crash: {type(error).__name__}: {error} ({where})")
        verdict.diff = "".join(traceback.format_exception(error))
        return verdict


def show(verdict: Verdict, verbose: bool) -> None:
    """One case: what is wrong, what was found, how the text differs."""
    case = verdict.case
    mode = " --unsafe-fixes" if case.unsafe else ""
    print(f"{'ok  ' if verdict.passed else 'FAIL'} {case.name}  [{case.expect} {' '.join(case.rules)}{mode}]")
    for problem in verdict.problems:
        print("     - " + problem.rstrip().replace("\n", "\n       "))
    for note in verdict.notes:
        print(f"     note: {note}")
    if verbose or (not verdict.passed and case.expect == "fix"):
        for found in verdict.findings:
            print(f"     {found.line}: {found.code} {found.applicability}: {found.message}")
    lines = verdict.diff.splitlines()
    shown = lines if verbose else lines[:SHORT_DIFF]
    for line in shown:
        print("     " + line)
    if len(shown) < len(lines):
        print(f"     … {len(lines) - len(shown)} more lines, see -v")
    if not verdict.passed:
        print(f"     {case.settings.get('why', '')}\n")


def rule_of(case: Case) -> str:
    """The main rule, or what the folder says."""
    return case.rules[0] if case.rules else "-"


def table(title: str, verdicts: list[Verdict], key: Callable[[Case], str]) -> str:
    """Passing and all cases per group and expectation."""
    groups: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for verdict in verdicts:
        for group in (key(verdict.case), "all"):
            groups[group][verdict.case.expect].append(verdict.passed)
            groups[group]["all"].append(verdict.passed)
    if len(groups) < 3:
        return ""
    columns = (*EXPECTATIONS, "all")
    lines = [f"{title:<16}" + "".join(f"{name:>10}" for name in columns)]
    for group in [*sorted(set(groups) - {"all"}), "all"]:
        cells = [groups[group][name] for name in columns]
        shown = (f"{sum(cell)}/{len(cell)}" if cell else "" for cell in cells)
        mark = "" if all(groups[group]["all"]) else "  <"
        lines.append(f"{group:<16}" + "".join(f"{text:>10}" for text in shown) + mark)
    return "\n".join(lines) + "\n"


def kind_of_failure(verdict: Verdict) -> str:
    """The first problem without what is special to the case."""
    problem = verdict.problems[0]
    for start in ("false alarm", "crash", "no finding", "the text", "line ", "run", "found", "a second run", "comment"):
        if problem.startswith(start):
            return problem if start == "the text" else " ".join(problem.split()[:3])
    return problem.splitlines()[0]


if __name__ == "__main__":
    sys.exit(main())
