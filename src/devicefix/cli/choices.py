"""The values of options that have a fixed set of them."""

from __future__ import annotations

from enum import Enum


class OutputFormat(str, Enum):
    """How findings are printed."""

    full = "full"
    concise = "concise"
    json = "json"
    sarif = "sarif"
    github = "github"
    gitlab = "gitlab"
    junit = "junit"
    rdjson = "rdjson"
    azure = "azure"


class Color(str, Enum):
    """Whether output is coloured."""

    auto = "auto"
    always = "always"
    never = "never"


class RuleFormat(str, Enum):
    """How a rule is explained."""

    text = "text"
    json = "json"


class RunFormat(str, Enum):
    """How the report of a run is printed."""

    text = "text"
    json = "json"
    sarif = "sarif"


class VerifyOn(str, Enum):
    """Where the command of ``--verify`` runs."""

    here = "here"
    simulated = "simulated"
    cuda = "cuda"
    cpu = "cpu"


class BufferStyle(str, Enum):
    """How a buffer is written."""

    register_buffer = "register_buffer"
    nn_buffer = "nn.Buffer"


class DeviceExpression(str, Enum):
    """How a new device is chosen."""

    cuda = "cuda"
    accelerator = "accelerator"
