"""The machine formats, held against what others say about them: a schema, a parser, documented shapes.

The schema of SARIF 2.1.0 is read from the npm package `@microsoft/jest-sarif`: from ``node_modules`` in the folder of the
project or above, or from the file that ``DEVICEFIX_SARIF_SCHEMA`` names.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toy
from devicefix.engine.errors import FileError
from devicefix.engine.outcome import Outcome
from devicefix.engine.run import run
from devicefix.findings import Applicability, Finding, Fix, Position, Related, Span
from devicefix.report import WITH_EDITS, renderer
from devicefix.report.style import Style
from devicefix.settings import OUTPUT_FORMATS, Settings

CODE = "é = '😀'; x.to(d)\na = torch.zeros(\n    3,\n)\nb = torch.rand(3)\n"
IN_PACKAGE = "node_modules/@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json"


def schema_file() -> Path | None:
    given = os.environ.get("DEVICEFIX_SARIF_SCHEMA")
    if given:
        return Path(given)
    return next((folder / IN_PACKAGE for folder in Path(__file__).parents if (folder / IN_PACKAGE).exists()), None)


SCHEMA = schema_file()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("pkg").mkdir()
    Path("pkg/a b.py").write_text(CODE, "utf-8")
    Path("clean.py").write_text("x = 1\n")
    Path("broken.py").write_text("def f(:\n")
    cell = {"cell_type": "code", "source": "x.to(d)", "outputs": [], "metadata": {}}
    Path("n.ipynb").write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    return tmp_path


def real(output_format: str) -> list[Outcome]:
    wants = output_format in WITH_EDITS
    return list(run(["."], Settings(), want_edits=wants, rules=toy.RULES, analyse=toy.analyse))


def text(output_format: str, outcomes: list[Outcome] | None = None) -> str:
    return "".join(renderer(output_format)(real(output_format) if outcomes is None else outcomes, Style(False)))


@st.composite
def odd_outcomes(draw: st.DrawFn) -> Outcome:
    """Findings with every sort of text in them."""
    words = st.text(max_size=12)
    line = draw(st.integers(1, 3))
    span = Span(
        Position(line, draw(st.integers(1, 4))), Position(line + draw(st.integers(0, 1)), 5), draw(st.integers(0, 2))
    )
    level = draw(st.sampled_from(Applicability))
    fix = None if level is Applicability.REPORT else Fix(draw(words), level, (), draw(words))
    path = draw(st.sampled_from(["a.py", "a b/é.py", "/abs/x.py", "we%ird,:\n.py", "\udce9.py"]))
    related = tuple(Related(path, span, draw(words)) for _ in range(draw(st.integers(0, 2))))
    finding = Finding("DVF201", "factory-device", draw(words), path, span, fix, related, draw(words))
    errors = [FileError(path, draw(words), 1, 1)] if draw(st.booleans()) else []
    lines = {(span.cell, line): draw(words)}
    return Outcome(
        path, [finding] * draw(st.integers(1, 2)), errors, [], lines=lines, notebook=span.cell > 0, text="a\nb\nc\n"
    )


LISTS = st.lists(odd_outcomes(), max_size=3)


@pytest.mark.skipif(SCHEMA is None, reason="needs the npm package @microsoft/jest-sarif")
class TestSarif:
    def check(self, log: str) -> None:
        jsonschema = pytest.importorskip("jsonschema")
        assert SCHEMA is not None
        schema = json.loads(SCHEMA.read_text("utf-8"))
        jsonschema.validators.validator_for(schema)(schema).validate(json.loads(log))

    def test_of_a_run(self) -> None:
        self.check(text("sarif"))

    def test_of_nothing(self) -> None:
        self.check(text("sarif", []))

    @given(LISTS)
    def test_of_anything(self, outcomes: list[Outcome]) -> None:
        self.check(text("sarif", outcomes))


@pytest.mark.parametrize("name", OUTPUT_FORMATS)
@given(outcomes=LISTS)
def test_no_text_breaks_a_format(name: str, outcomes: list[Outcome]) -> None:
    got = text(name, outcomes)
    got.encode("utf-8", "backslashreplace")
    if name in ("json", "sarif", "gitlab", "rdjson"):
        json.loads(got)


def test_junit_is_read_by_another_program() -> None:
    junitparser = pytest.importorskip("junitparser")
    suites = junitparser.JUnitXml.fromstring(text("junit").encode("utf-8"))
    assert (suites.tests, suites.failures, suites.errors) == (6, 4, 1)
    by_name = {suite.name: suite for suite in suites}
    assert set(by_name) == {"pkg/a b.py", "clean.py", "broken.py", "n.ipynb"}
    for suite in suites:
        cases = list(suite)
        assert suite.tests == len(cases)
        assert suite.failures == sum(isinstance(r, junitparser.Failure) for case in cases for r in case.result)
        assert suite.errors == sum(isinstance(r, junitparser.Error) for case in cases for r in case.result)
    [first, *_] = [case for case in by_name["pkg/a b.py"] if case.result]
    assert first.result[0].type == "DVF101"
    assert "returns a new tensor" in first.result[0].message


@given(LISTS)
def test_junit_is_always_xml(outcomes: list[Outcome]) -> None:
    import xml.etree.ElementTree as ET

    root = ET.fromstring(text("junit", outcomes).encode("utf-8"))
    assert int(root.attrib["failures"]) == sum(len(o.findings) for o in outcomes)


def test_gitlab_has_the_documented_fields() -> None:
    issues = json.loads(text("gitlab"))
    assert len(issues) == 4
    assert len({issue["fingerprint"] for issue in issues}) == 4
    for issue in issues:
        assert set(issue) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert issue["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert not issue["location"]["path"].startswith(("/", "./"))
        assert issue["location"]["positions"]["begin"]["line"] >= 1


def test_rdjson_has_the_documented_fields() -> None:
    result = json.loads(text("rdjson"))
    assert set(result) == {"source", "severity", "diagnostics"}
    assert result["severity"] in ("UNKNOWN_SEVERITY", "ERROR", "WARNING", "INFO")
    for diagnostic in result["diagnostics"]:
        assert set(diagnostic) <= {
            "message",
            "location",
            "severity",
            "source",
            "code",
            "suggestions",
            "original_output",
        }
        place = diagnostic["location"]["range"]
        assert (place["start"]["line"], place["start"]["column"]) <= (place["end"]["line"], place["end"]["column"])
        for suggestion in diagnostic.get("suggestions", ()):
            assert set(suggestion) == {"range", "text"}


def test_rdjson_suggestions_lead_to_the_fixed_text() -> None:
    raw = CODE.encode()
    rows = raw.split(b"\n")
    starts = [sum(len(row) + 1 for row in rows[:n]) for n in range(len(rows))]
    edits = []
    for diagnostic in json.loads(text("rdjson"))["diagnostics"]:
        if diagnostic["location"]["path"] == "pkg/a b.py":
            for s in diagnostic.get("suggestions", ()):
                at = [starts[s["range"][end]["line"] - 1] + s["range"][end]["column"] - 1 for end in ("start", "end")]
                edits.append((*at, s["text"].encode()))
    for start, end, new in sorted(edits, reverse=True):
        raw = raw[:start] + new + raw[end:]
    assert raw.decode() == CODE.replace("x.to(d)", "x = x.to(d)").replace("    3,\n", "    3,\n    device=x.device,\n")


COMMAND = re.compile(r"::(error|warning|notice)( [^:]+)?::(.*)")


@given(LISTS)
def test_github_commands_can_be_taken_apart(outcomes: list[Outcome]) -> None:
    """As the runner does it: properties are split at commas and equal signs, then unescaped."""
    found = [finding for outcome in outcomes for finding in outcome.findings]
    got = text("github", outcomes)
    rows = got.split("\n")[:-1]
    assert len(rows) == len(found)
    for row, finding in zip(rows, found, strict=True):
        match = COMMAND.fullmatch(row)
        assert match is not None
        properties = dict(part.split("=", 1) for part in match[2].strip().split(","))
        assert properties.keys() >= {"title", "file", "line", "endLine"}
        assert int(properties["line"]) == finding.span.start.line
        name = properties["file"]
        for escaped, plain in (("%2C", ","), ("%3A", ":"), ("%0A", "\n"), ("%0D", "\r"), ("%25", "%")):
            name = name.replace(escaped, plain)
        assert name == finding.path
        message = match[3].replace("%0A", "\n").replace("%0D", "\r").replace("%25", "%")
        assert message.startswith(finding.message)
