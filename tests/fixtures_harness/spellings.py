"""A few faults written in every way that Python allows.

Each base is a program with a hole for one statement. An import style says how torch's names are spelt, a form says how
the statement is written, a layout says how the whole text looks. All are plain text functions that are applied to the
faulty statement and to its repair alike, so that the wanted answer of every spelling is known.
"""

from __future__ import annotations

import itertools
import re
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass(frozen=True, slots=True)
class Base:
    """A program with ``{statement}``; ``{nn}``, ``{arange}``, ``{no_grad}`` … stand for torch's names."""

    name: str
    code: str
    fault: str
    repair: str
    text: str


@dataclass(frozen=True, slots=True)
class Spelling:
    """One way to write a base: the faulty program and what it must become."""

    name: str
    code: str
    fault: bytes
    repair: bytes


BASES = (
    Base(
        "dropped-move",
        "DVF101",
        "x.to(device)",
        "x = x.to(device)",
        """
        def send(net, rows, device):
            x = {tensor}(rows)
            {statement}
            return net(x).detach()


        def run(device):
            {manual_seed}(0)
            net = {nn}.Linear(2, 3).to(device)
            return send(net, [[1.0, 2.0]], device)
        """,
    ),
    Base(
        "factory",
        "DVF201",
        "steps = {arange}(s.size(1))",
        "steps = {arange}(s.size(1), device=s.device)",
        """
        class Ramp({nn}.Module):
            def forward(self, s):
                {statement}
                return s + steps


        def run(device):
            return Ramp().to(device)({ones}(2, 3).to(device))
        """,
    ),
    Base(
        "attribute",
        "DVF301",
        "self.steps = {arange}(n)",
        'self.register_buffer("steps", {arange}(n), persistent=False)',
        """
        class Ramp({nn}.Module):
            def __init__(self, n):
                super().__init__()
                {statement}

            def forward(self, s):
                return s + self.steps


        def run(device):
            return Ramp(3).to(device)({ones}(2, 3).to(device))
        """,
    ),
)

NAMES = ("tensor", "arange", "ones", "manual_seed", "no_grad")

TYPE_CHECKING_IMPORTS = """\
from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import Tensor, nn as _nn

nn = torch.nn
"""

#: import style -> (import lines, prefix of torch's functions, name of torch.nn)
IMPORTS: dict[str, tuple[str, str, str]] = {
    "import-torch": ("import torch\nfrom torch import nn\n", "torch.", "nn"),
    "import-as": ("import torch as th\nimport torch.nn as tnn\n", "th.", "tnn"),
    "dotted": ("import torch, torch.nn\n", "torch.", "torch.nn"),
    "from-as": (
        "from torch import nn, " + ", ".join(f"{name} as t_{name}" for name in NAMES) + "\n",
        "t_",
        "nn",
    ),
    "star": ("from torch import *\nfrom torch import nn\n", "", "nn"),
    "try": (
        "try:\n    import torch\n    from torch import nn\nexcept ImportError:\n    torch = nn = None\n",
        "torch.",
        "nn",
    ),
    "type-checking": (
        TYPE_CHECKING_IMPORTS,
        "torch.",
        "nn",
    ),
}

#: form -> the statement's lines; ``@`` is the statement
FORMS: dict[str, str] = {
    "plain": "@",
    "semicolon-before": "pass; @",
    "semicolon-after": "@; pass",
    "type-comment": "@  # type: ignore[misc]",
    "comment-above": "# to the right place\n@",
    "with": "with {no_grad}():\n    @",
    "try-finally": "try:\n    @\nfinally:\n    pass",
    "match": "match 1:\n    case 1 | _:\n        @",
    "walrus-above": "if (k := 1):\n    pass\n@",
    "after-nested-def": "def unused(t):\n    return [t for t in (t,)]\n@",
    "lambda-above": "same = lambda t: t  # noqa: E731\n@",
}

#: forms that make sense for one base only
OWN_FORMS: dict[str, dict[str, str]] = {
    "dropped-move": {
        "one-line-if": "if device: @",
        "one-line-if-semicolons": "if device: pass; @; pass",
        "for-once": "for _ in (1,):\n    @",
    },
    "factory": {"annotated-above": "size: int = s.size(1)\n@"},
    "attribute": {"if-else": "if n > 2:\n    @\nelse:\n    @"},
}


def _break_lines(text: str) -> str:
    """A call with one argument per line and a comment, a backslash before a method call."""
    text = text.replace("x.to(device)\n", "x \\\n        .to(device)\n", 1)
    text = re.sub(r"(arange\()(s\.size\(1\)|n)", r"\1  # how many\n            \2", text, count=1)
    return text.replace("s.size(1), device=", "s.size(1),\n            device=")


def _in_function(text: str) -> str:
    """The whole program inside a function that hands out ``run``."""
    imports, body = _split(text)
    return f"{imports}\n\ndef outer():\n{textwrap.indent(body, '    ')}\n    return run\n\n\nrun = outer()\n"


def _imports_in_function(text: str) -> str:
    """Imports are made inside the function."""
    if "import *" in text or "__future__" in text:
        return text
    return f"def outer():\n{textwrap.indent(text, '    ')}\n    return run\n\n\nrun = outer()\n"


def _split(text: str) -> tuple[str, str]:
    start = re.search(r"^(class|def) ", text, re.MULTILINE)
    assert start is not None
    return text[: start.start()].rstrip("\n") + "\n", text[start.start() :]


def _decorated(text: str) -> str:
    """Functions with a decorator."""
    imports, body = _split(text)
    mark = "def mark(*words):\n    def inner(f):\n        return f\n    return inner\n\n\n"
    body = re.sub(r"^( *)def (forward|send)\(", r"\1@mark('a', 'b')\n\1def \2(", body, flags=re.MULTILINE)
    return imports + "\n\n" + mark + body


def _async(text: str) -> str:
    """The function with the move is a coroutine."""
    call = "send(net, [[1.0, 2.0]], device)"
    text = text.replace("def send(", "async def send(")
    return text.replace(f"return {call}", f"import asyncio\n    return asyncio.run({call})")


LAYOUTS: dict[str, Callable[[str], str | bytes]] = {
    "as-is": lambda text: text,
    "crlf": lambda text: text.replace("\n", "\r\n"),
    "tabs": lambda text: re.sub(r"^(?: {4})+", lambda m: "\t" * (len(m[0]) // 4), text, flags=re.MULTILINE),
    "two-spaces": lambda text: re.sub(r"^(?: {4})+", lambda m: " " * (len(m[0]) // 2), text, flags=re.MULTILINE),
    "byte-order-mark": lambda text: b"\xef\xbb\xbf" + text.encode(),
    "no-final-newline": lambda text: text.rstrip("\n"),
    "form-feed-and-blank-lines": lambda text: text.replace("\n\n\n", "\n\n\f\n\n"),
    "non-ascii": lambda text: re.sub(r"\bsteps\b", "größe", re.sub(r"\bx\b", "ширина", "# Länge ≤ 3 — “so”\n" + text)),
    "broken-lines": _break_lines,
    "in-function": _in_function,
    "imports-in-function": _imports_in_function,
    "decorated": _decorated,
    "async": _async,
}


def spellings() -> Iterator[Spelling]:
    """Every import style with every form, and every layout with a few of both; no text twice."""
    seen: set[bytes] = set()
    for base in BASES:
        forms = {**FORMS, **OWN_FORMS.get(base.name, {})}
        pairs = [(style, form, "as-is") for style, form in itertools.product(IMPORTS, forms)]
        pairs += [
            (style, form, layout)
            for layout in LAYOUTS
            for style, form in (("import-torch", "plain"), ("from-as", "semicolon-after"), ("import-as", "with"))
            if layout != "as-is"
        ]
        for style, form, layout in pairs:
            fault, repair = (
                _write(base, statement, style, forms[form], layout) for statement in (base.fault, base.repair)
            )
            if fault not in seen:
                seen.add(fault)
                name = "-".join((base.name, style, form, *([layout] if layout != "as-is" else [])))
                yield Spelling(name, base.code, fault, repair)


def _write(base: Base, statement: str, style: str, form: str, layout: str) -> bytes:
    imports, prefix, nn = IMPORTS[style]
    text = textwrap.dedent(base.text).strip("\n") + "\n"
    hole = re.search(r"^( *)\{statement\}$", text, re.MULTILINE)
    assert hole is not None
    text = text.replace(hole[0], textwrap.indent(form.replace("@", statement), hole[1]))
    for name in NAMES:
        text = text.replace("{" + name + "}", prefix + name)
    text = text.replace("{nn}", nn)
    written = LAYOUTS[layout](f"{imports}\n\n{text}")
    return written if isinstance(written, bytes) else written.encode()
