"""Writes the table of scripts/gpu_check.sh from what its tests left in a folder."""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

import torch


def main(folder: Path) -> None:
    print("# Fixtures on a real card\n")
    for label, value in (
        ("card", torch.cuda.get_device_name(0)),
        ("cards", torch.cuda.device_count()),
        ("torch", torch.__version__),
        ("CUDA", torch.version.cuda),
        ("cuDNN", torch.backends.cudnn.version()),
        ("Python", sys.version.split()[0]),
    ):
        print(f"- {label}: {value}")
    fixtures = read_lines(folder / "fixtures.jsonl")
    counts = Counter(one["verdict"].split(":")[0] for one in fixtures)
    print(f"\n{', '.join(f'{count} {verdict}' for verdict, count in counts.most_common())}\n")
    print("| fixture | verdict |\n|---|---|")
    for one in fixtures:
        print(f"| {one['fixture']} | {one['verdict'].replace('|', '/')} |")
    print("\n## Other tests that failed (among them errors that a card words differently from the simulator)\n")
    print_failures(folder / "junit.xml")
    bench = folder / "bench.txt"
    if bench.exists():
        print(f"\n## Overhead\n\n```\n{bench.read_text(encoding='utf-8').rstrip()}\n```")


def read_lines(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def print_failures(path: Path) -> None:
    failed = []
    if path.exists():
        for case in ElementTree.parse(path).iter("testcase"):
            problem = next((child for child in case if child.tag in ("failure", "error")), None)
            if problem is not None and "test_fixtures_proven" not in case.get("classname", ""):
                message = " ".join((problem.get("message") or "").split())[:300]
                failed.append(f"- `{case.get('name')}`: {message}")
    print("\n".join(failed) or "none")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
