"""Memory that grows with every edit would show after an hour of typing."""

from __future__ import annotations

import sys

import pytest

pytest.importorskip("pygls", reason="the language server is an extra")

from lsp import programs
from lsp.raw import RawClient


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_a_thousand_edits_leave_memory_as_it_was(tmp_path):
    client = RawClient()
    client.start("eglot-1.9", tmp_path)
    uri = (tmp_path / "a.py").as_uri()
    client.open(uri, programs.NET)
    client.wait_for(uri, 1)
    sizes = []
    for version in range(2, 1003):
        client.change(uri, version, programs.NET + f"note = {version}\n" * (version % 7))
        client.wait_for(uri, version)
        if version % 10 == 0:
            client.actions(uri, ["source.fixAll"])
        if version % 100 == 1:
            sizes.append(client.memory() / 2**20)
    assert client.stop() == 0
    assert max(sizes[5:]) - max(sizes[2:5]) < 8, sizes
