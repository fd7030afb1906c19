"""The machine formats, held against what others say about them: a schema, a parser, documented shapes.

Some of what others offer is in npm packages, which are found in ``node_modules`` in the folder of the project or above:
``@microsoft/sarif-multitool`` (Microsoft's validator, ``npm install --ignore-scripts`` is enough) and
``@umbrelladocs/rdformat-validator``. Without them the tests that use them are skipped; the others need nothing.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

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

pytestmark = pytest.mark.usefixtures("folder")

SCHEMA = Path(__file__).parent / "schemas" / "sarif-2.1.0-rtm.5.json"
MULTITOOL = "@microsoft/sarif-multitool-linux/Sarif.Multitool"
RDFORMAT = "@umbrelladocs/rdformat-validator/package.json"


def npm_file(name: str) -> Path:
    """A file of an npm package; skips the test where it is not installed."""
    for folder in Path(__file__).parents:
        if (folder / "node_modules" / name).exists():
            return folder / "node_modules" / name
    pytest.skip(f"needs the npm package {name.rpartition('/')[0]}")


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
    path = draw(st.sampled_from(["a.py", "a b/é.py", "/abs/x.py", "we%ird,:\n.py", "a];b=c.py", "\udce9.py"]))
    related = tuple(Related(path, span, draw(words)) for _ in range(draw(st.integers(0, 2))))
    finding = Finding("DVF201", "factory-device", draw(words), path, span, fix, related, draw(words))
    errors = [FileError(path, draw(words), 1, 1)] if draw(st.booleans()) else []
    lines = {(span.cell, line): draw(words)}
    return Outcome(
        path, [finding] * draw(st.integers(1, 2)), errors, [], lines=lines, notebook=span.cell > 0, text="a\nb\nc\n"
    )


LISTS = st.lists(odd_outcomes(), max_size=3)


@pytest.fixture(scope="module")
def sarif_validator() -> Any:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(SCHEMA.read_text("utf-8"))
    return jsonschema.validators.validator_for(schema)(schema)


class TestSarif:
    def test_of_a_run(self, sarif_validator: Any) -> None:
        log = json.loads(text("sarif"))
        sarif_validator.validate(log)
        [run_] = log["runs"]
        assert len(run_["results"]) == 4
        assert sum("fixes" in result for result in run_["results"]) == 3  # of the notebook there are none
        assert all(
            rule["help"]["markdown"] and rule["fullDescription"]["text"] for rule in run_["tool"]["driver"]["rules"]
        )

    def test_of_nothing(self, sarif_validator: Any) -> None:
        sarif_validator.validate(json.loads(text("sarif", [])))

    @given(outcomes=LISTS)
    def test_of_anything(self, sarif_validator: Any, outcomes: list[Outcome]) -> None:
        sarif_validator.validate(json.loads(text("sarif", outcomes)))

    def test_the_schema_refuses_what_is_wrong(self, sarif_validator: Any) -> None:
        log = json.loads(text("sarif"))
        del log["runs"][0]["results"][0]["message"]
        assert not sarif_validator.is_valid(log)

    def test_microsoft_s_validator_agrees(self, folder: Path) -> None:
        tool = npm_file(MULTITOOL)
        if not os.access(tool, os.X_OK):
            tool = Path(shutil.copytree(tool.parent, folder / "tool")) / tool.name
            tool.chmod(0o755)
        Path("log.sarif").write_text(text("sarif"), "utf-8")
        done = subprocess.run(
            [tool, "validate", "log.sarif", "--rule-kind", "Sarif;Ghas", "--output", "found.sarif"],
            env={**os.environ, "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1"},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        complaints = [line for line in done.stdout.splitlines() if re.search(r": (warning|error|note) ", line)]
        # The project has no address on the web that could be given.
        assert [line for line in complaints if "'informationUri'" not in line] == []


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


PLACE = {
    "type": "object",
    "required": ["line", "column"],
    "additionalProperties": False,
    "properties": {"line": {"type": "integer", "minimum": 1}, "column": {"type": "integer", "minimum": 1}},
}
TEXT = {"type": "string", "minLength": 1}
#: what GitLab's documentation says of a code quality report
GITLAB = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "additionalProperties": False,
        "properties": {
            "description": TEXT,
            "check_name": TEXT,
            "fingerprint": TEXT,
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path", "positions"],
                "properties": {
                    "path": {"type": "string", "pattern": "^(?!/|\\./)"},
                    "positions": {
                        "type": "object",
                        "required": ["begin"],
                        "properties": {"begin": PLACE, "end": PLACE},
                    },
                },
            },
        },
    },
}


def test_gitlab_has_the_documented_fields() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    issues = json.loads(text("gitlab"))
    jsonschema.validate(issues, GITLAB)
    assert len(issues) == 4
    assert len({issue["fingerprint"] for issue in issues}) == 4


@given(outcomes=LISTS)
def test_gitlab_s_fingerprints_are_unique(outcomes: list[Outcome]) -> None:
    """GitLab keeps one issue of each fingerprint."""
    prints = [issue["fingerprint"] for issue in json.loads(text("gitlab", outcomes))]
    assert len(set(prints)) == len(prints)


RANGE = {
    "type": "object",
    "required": ["start", "end"],
    "additionalProperties": False,
    "properties": {"start": PLACE, "end": PLACE},
}
SEVERITY = {"enum": ["UNKNOWN_SEVERITY", "ERROR", "WARNING", "INFO"]}
#: what reviewdog's documentation says of the fields that are used
RDJSON = {
    "type": "object",
    "required": ["source", "severity", "diagnostics"],
    "additionalProperties": False,
    "properties": {
        "source": {"type": "object", "required": ["name"], "properties": {"name": TEXT, "url": TEXT}},
        "severity": SEVERITY,
        "diagnostics": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["message", "location", "severity", "code"],
                "additionalProperties": False,
                "properties": {
                    "message": {"type": "string"},
                    "severity": SEVERITY,
                    "code": {"type": "object", "required": ["value"], "properties": {"value": TEXT, "url": TEXT}},
                    "location": {
                        "type": "object",
                        "required": ["path", "range"],
                        "additionalProperties": False,
                        "properties": {"path": TEXT, "range": RANGE},
                    },
                    "suggestions": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["range", "text"],
                            "additionalProperties": False,
                            "properties": {"range": RANGE, "text": {"type": "string"}},
                        },
                    },
                },
            },
        },
    },
}


def test_rdjson_has_the_documented_fields() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    result = json.loads(text("rdjson"))
    jsonschema.validate(result, RDJSON)
    assert sum("suggestions" in diagnostic for diagnostic in result["diagnostics"]) == 2
    for diagnostic in result["diagnostics"]:
        place = diagnostic["location"]["range"]
        assert (place["start"]["line"], place["start"]["column"]) <= (place["end"]["line"], place["end"]["column"])


def test_a_validator_of_reviewdog_s_format_agrees() -> None:
    package = npm_file(RDFORMAT)
    node = shutil.which("node") or pytest.skip("needs node")
    program = package.parent / json.loads(package.read_text("utf-8"))["bin"]["rdformat-validator"]
    Path("found.json").write_text(text("rdjson"), "utf-8")
    options = ["--strict", "--no-extra-fields", "found.json"]
    done = subprocess.run([node, str(program), *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Valid files: 1" in done.stdout


def test_rdjson_suggestions_lead_to_the_fixed_text() -> None:
    raw = toy.CODE.encode()
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
    assert raw.decode() == toy.CODE.replace("x.to(d)", "x = x.to(d)").replace(
        "    3,\n", "    3,\n    device=x.device,\n"
    )


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


LOG_ISSUE = re.compile(r"##vso\[task\.logissue ([^\]]*)\](.*)")


@given(LISTS)
def test_azure_commands_can_be_taken_apart(outcomes: list[Outcome]) -> None:
    """As the agent does it: properties are split at semicolons and equal signs, then unescaped."""
    found = [finding for outcome in outcomes for finding in outcome.findings]
    rows = text("azure", outcomes).split("\n")[:-1]
    assert len(rows) == len(found)
    for row, finding in zip(rows, found, strict=True):
        match = LOG_ISSUE.fullmatch(row)
        assert match is not None
        properties = dict(part.split("=", 1) for part in match[1].split(";") if part)
        assert properties.keys() == {"type", "sourcepath", "linenumber", "columnnumber", "code"}
        assert properties["type"] == "warning"
        assert (int(properties["linenumber"]), properties["code"]) == (finding.span.start.line, finding.code)
        assert _unescaped(properties["sourcepath"]) == finding.path
        assert _unescaped(match[2]).startswith(finding.message)


def _unescaped(value: str) -> str:
    for escaped, plain in (("%3B", ";"), ("%0D", "\r"), ("%0A", "\n"), ("%5D", "]"), ("%AZP25", "%")):
        value = value.replace(escaped, plain)
    return value
