"""A look at the bytes of a file that tells whether parsing it can lead to anything.

The filter is sound: every finding needs one of these words in the file. A test compares filtered with unfiltered
results.
"""

from __future__ import annotations

import re

#: without one of these, a file has nothing to do with devices
TORCH = (b"torch", b".cuda", b"cuda:")

#: what every finding needs: something that makes, moves, loads or converts tensors, or names a device
NEEDED = re.compile(
    rb"\.(?:to|cuda|cpu|half|double|float|numpy|type|xpu|npu|hpu|mlu|musa|bfloat16|long|int)\b"
    rb"|cuda|Generator|Parameter|DataLoader|torch\.load|load_url|load_state_dict|set_default"
)


def may_have_findings(raw: bytes) -> bool:
    """Whether a file is worth parsing."""
    return any(word in raw for word in TORCH)
