"""Reports of runs, verdicts and rollbacks: text for people, json and sarif for programs."""

from __future__ import annotations

import json
from importlib import metadata
from typing import TYPE_CHECKING, Any

from devicefix.verify.mismatch import RULE_NAMES, Log, Mismatch
from devicefix.verify.sites import Site, shown_path

if TYPE_CHECKING:
    from collections.abc import Sequence

FORMATS = ("text", "json", "sarif")
UNNAMED = "device-mismatch"


def tool_version() -> str:
    """The installed version of devicefix."""
    try:
        return metadata.version("devicefix")
    except metadata.PackageNotFoundError:
        return "0"


def mismatches_as_text(log: Log) -> str:
    """Empty where there is nothing to say."""
    blocks = [_block(mismatch, log.times(mismatch)) for mismatch in log.mismatches]
    if len(blocks) > 1:
        blocks.append(f"{len(blocks)} device mismatches\n")
    return "\n".join(blocks)


def _block(mismatch: Mismatch, times: int) -> str:
    where = mismatch.where
    place = f"{where.short}: " if where is not None else ""
    again = f" ({times} times)" if times > 1 else ""
    lines = [f"{place}device mismatch: {mismatch.message}{again}"]
    if where is not None and where.text:
        lines.append(f"  at `{where.text}`" + (f" (in {where.function})" if where.function else ""))
    lines.extend(f"  {line}" for line in mismatch.explanation())
    return "\n".join(lines) + "\n"


def mismatches_as_json(log: Log, **facts: Any) -> str:
    """All mismatches of a run, and further facts about it."""
    found = [{**mismatch.as_dict(), "times": log.times(mismatch)} for mismatch in log.mismatches]
    return json.dumps({"tool": "devicefix", "version": tool_version(), **facts, "mismatches": found}, indent=2) + "\n"


def mismatches_as_sarif(mismatches: Sequence[Mismatch]) -> str:
    """SARIF 2.1.0; where the tensors come from is in the related locations."""
    codes = sorted({code for mismatch in mismatches for code in mismatch.rules} | {UNNAMED})
    rules = [{"id": code, "name": RULE_NAMES.get(code, code)} for code in codes]
    run = {
        "tool": {"driver": {"name": "devicefix", "version": tool_version(), "rules": rules}},
        "columnKind": "unicodeCodePoints",
        "results": [_sarif_result(mismatch) for mismatch in mismatches],
    }
    document = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return json.dumps(document, indent=2) + "\n"


def _sarif_result(mismatch: Mismatch) -> dict[str, Any]:
    related = []
    for tensor in mismatch.tensors:
        for verb, site in (("was made", tensor.made), ("was last moved", tensor.moved)):
            if site is not None:
                related.append(
                    {**_sarif_location(site), "message": {"text": f"the {tensor.device} tensor {verb} here"}}
                )
    result: dict[str, Any] = {
        "ruleId": mismatch.rules[0] if mismatch.rules else UNNAMED,
        "level": "error",
        "message": {"text": "\n".join([mismatch.message, *mismatch.explanation()])},
        "locations": [_sarif_location(mismatch.where)] if mismatch.where is not None else [],
    }
    if related:
        result["relatedLocations"] = related
    return result


def _sarif_location(site: Site) -> dict[str, Any]:
    region = {
        "startLine": site.line,
        "startColumn": site.column,
        "endLine": site.end_line,
        "endColumn": site.end_column,
    }
    uri = shown_path(site.path).replace("\\", "/")
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}}
