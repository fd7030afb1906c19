from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

import toy
from devicefix.engine.outcome import Outcome
from devicefix.engine.run import run
from devicefix.findings import Applicability, Finding, Fix, Position, Related, Span
from devicefix.report import WITH_EDITS, renderer
from devicefix.report.style import Style
from devicefix.settings import OUTPUT_FORMATS, Settings

pytestmark = pytest.mark.usefixtures("folder")


def outcomes(output_format: str) -> list[Outcome]:
    wants = output_format in WITH_EDITS
    found = list(run(["."], Settings(), want_edits=wants, rules=toy.RULES, analyse=toy.analyse))
    return sorted(found, key=lambda outcome: outcome.path)


def text(output_format: str, *, color: bool = False, of: list[Outcome] | None = None) -> str:
    return "".join(renderer(output_format)(outcomes(output_format) if of is None else of, Style(color)))


def test_every_format_has_a_module_and_survives_nothing_to_say() -> None:
    for name in OUTPUT_FORMATS:
        assert isinstance("".join(renderer(name)([], Style())), str)
    with pytest.raises(ValueError, match="unknown output format"):
        renderer("yaml")


@pytest.mark.parametrize("name", OUTPUT_FORMATS)
def test_every_format_names_every_finding(name: str) -> None:
    got = text(name)
    assert got.count("DVF101") >= 2
    assert got.endswith("\n")
    assert ("a b.py" in got) or ("a%20b.py" in got)


def test_full_shows_the_line_under_the_message() -> None:
    assert (
        "pkg/a b.py:1:10: DVF101 `x.to()` returns a new tensor\n"
        "  |\n"
        "1 | é = '😀'; x.to(d)\n"
        "  |           ^^^^^^^\n"
        "  = safe fix: assign the result to `x`\n"
    ) in text("full")
    assert "2 | a = torch.zeros(\n  |     ^^^^^^^^^^^^\n" in text("full")


def made(line: str, start: int, end: int, **more: Any) -> Outcome:
    span = Span(Position(1, start), Position(1, end))
    finding = Finding("DVF201", "factory-device", "message", "t.py", span, **more)
    return Outcome("t.py", [finding], [], [], lines={(0, 1): line})


def carets(got: str) -> str:
    return next(row for row in got.split("\n") if "^" in row)[4:]


def test_full_points_under_tabs_and_wide_characters() -> None:
    assert carets(text("full", of=[made("\tx.to(d)", 2, 9)])) == "\t^^^^^^^"
    assert carets(text("full", of=[made("日本 = x", 6, 7)])) == "       ^"
    assert carets(text("full", of=[made("e\u0301 = x", 6, 7)])) == "    ^"
    assert "\x1b" not in text("full", of=[made("a\x1b[31m = x", 9, 10)])


def test_full_cuts_very_long_lines_around_the_finding() -> None:
    line = "a = [" + "1, " * 2000 + "x.to(d)]"
    start = line.index("x.to") + 1
    got = text("full", of=[made(line, start, start + 7)])
    shown = next(row for row in got.split("\n") if "x.to(d)" in row)
    assert len(shown) < 200
    assert shown[4:][len(carets(got)) - 7 : len(carets(got))] == "x.to(d)"
    assert max(len(row) for row in text("full", of=[made(line, 1, len(line))]).split("\n")) < 200


def test_full_tells_related_places_reasons_and_notes() -> None:
    related = (Related("o.py", Span(Position(3, 4), Position(3, 5)), "created here"),)
    assert "= o.py:3:4: created here\n" in text("full", of=[made("x", 1, 2, related=related)])
    assert "= no fix: it is shared\n" in text("full", of=[made("x", 1, 2, note="it is shared")])
    fix = Fix("move it", Applicability.UNSAFE, (), "`x` may hold integers")
    assert "= unsafe fix: move it (unsafe: `x` may hold integers)\n" in text("full", of=[made("x", 1, 2, fix=fix)])


def test_color_adds_nothing_but_escapes() -> None:
    for name in ("full", "concise"):
        colored = text(name, color=True)
        assert "\x1b[" in colored
        assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == text(name)


def test_concise_is_one_line_each() -> None:
    assert text("concise").split("\n")[0] == "n.ipynb:cell 1:1:1: DVF101 [safe fix] `x.to()` returns a new tensor"
    assert len(text("concise").strip().split("\n")) == 4


def test_json_edits_lead_to_the_fixed_text() -> None:
    records = [r for r in json.loads(text("json")) if r["path"].endswith("a b.py")]
    assert [r["code"] for r in records] == ["DVF101", "DVF201", "DVF201"]
    assert records[0]["start"] == {"line": 1, "column": 10}
    assert [r["applicability"] for r in records] == ["safe", "safe", "unsafe"]
    assert records[2]["fix"]["reason"] == "the random stream changes"
    code = toy.CODE
    for edit in sorted((e for r in records for e in r["fix"]["edits"]), key=lambda e: -e["start_offset"]):
        code = code[: edit["start_offset"]] + edit["replacement"] + code[edit["end_offset"] :]
        line = toy.CODE.split("\n")[edit["start"]["line"] - 1]
        assert line[edit["start"]["column"] - 1 :] in toy.CODE[edit["start_offset"] :]
    assert code == (
        "é = '😀'; x = x.to(d)\na = torch.zeros(\n    3,\n    device=x.device,\n)\nb = torch.rand(3, device=x.device)\n"
    )


def test_sarif_holds_rules_places_fixes_and_failures() -> None:
    [log] = json.loads(text("sarif"))["runs"]
    rules = log["tool"]["driver"]["rules"]
    for rule in rules:
        assert rule["fullDescription"]["text"]
        assert rule["help"]["markdown"]
    assert log["invocations"][0]["executionSuccessful"] is False
    assert "syntax error" in log["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"]
    results = log["results"]
    in_file = [r for r in results if "a%20b.py" in json.dumps(r)]
    location = in_file[0]["locations"][0]["physicalLocation"]
    assert location["artifactLocation"] == {"uri": "pkg/a%20b.py", "uriBaseId": "%SRCROOT%"}
    assert location["region"] == {"startLine": 1, "startColumn": 10, "endLine": 1, "endColumn": 17}
    fixes = [r["fixes"][0] for r in in_file]
    assert fixes[0]["artifactChanges"][0]["replacements"][0]["insertedContent"]["text"] == "x = "
    assert "unsafe" in fixes[2]["description"]["text"]
    prints = [r["partialFingerprints"]["devicefix/v1"] for r in results]
    assert len(set(prints)) == len(prints)
    [cell] = [r for r in results if "n.ipynb" in json.dumps(r)]
    assert "fixes" not in cell
    assert cell["message"]["text"].endswith("(cell 1)")


def test_fingerprints_do_not_depend_on_lines_above() -> None:
    def prints() -> list[str]:
        return [issue["fingerprint"] for issue in json.loads(text("gitlab"))]

    before = prints()
    Path("pkg/a b.py").write_text("# more\n\n" + toy.CODE, "utf-8")
    assert prints() == before
    assert len(set(before)) == len(before) == 4


def test_github_escapes_and_leaves_out_columns_over_several_lines() -> None:
    rows = text("github").strip().split("\n")
    assert "file=pkg/a b.py,line=1,endLine=1,col=10,endColumn=17::`x.to()` returns" in rows[1]
    assert "line=2,endLine=4::" in rows[2]
    span = Span(Position(1, 1), Position(1, 2))
    odd = Outcome("a", [Finding("DVF201", "n", "50%\r\nof: a,b", "a,b:c%.py", span)], [], [])
    assert text("github", of=[odd]) == (
        "::warning title=devicefix (DVF201),file=a%2Cb%3Ac%25.py,line=1,endLine=1,col=1,endColumn=2"
        "::50%25%0D%0Aof: a,b (no fix)\n"
    )


def test_junit_is_xml_with_right_counts() -> None:
    root = ET.fromstring(text("junit").encode())
    assert root.attrib["failures"] == "4"
    assert root.attrib["errors"] == "1"
    assert len(root.findall(".//failure")) == 4
    assert int(root.attrib["tests"]) == len(root.findall(".//testcase"))
    assert root.find(".//testcase[@name='clean.py']") is not None
    odd = Outcome("a", [Finding("DVF201", "n", "\x00\x1b<&>\"'", "a.py", Span(Position(1, 1), Position(1, 2)))], [], [])
    ET.fromstring(text("junit", of=[odd]).encode())


def test_rdjson_counts_bytes_and_suggests_what_is_safe() -> None:
    found = json.loads(text("rdjson"))["diagnostics"]
    [first] = [d for d in found if d["location"]["path"] == "pkg/a b.py" and d["code"]["value"] == "DVF101"]
    assert first["location"]["range"]["start"] == {"line": 1, "column": len("é = '😀'; ".encode()) + 1}
    assert first["suggestions"][0]["text"] == "x = "
    [unsafe] = [d for d in found if d["location"]["range"]["start"]["line"] == 5]
    assert "suggestions" not in unsafe
