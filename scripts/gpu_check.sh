#!/usr/bin/env bash
# Proves the fixtures on a real CUDA device, without network, from a bare checkout.
#
#   scripts/gpu_check.sh [WHEELS] [RESULTS]
#
# Uses the torch (2.11 or newer) and pytest of this machine. Whatever else the tests need and this machine lacks is taken from
# the wheels in the folder WHEELS; without one nothing is installed. Wheels go into a temporary folder, not into the machine.
# RESULTS (gpu-results.md) gets a table: the card, the versions, the verdict on each fixture, the wording of each error that
# differs from the simulator's, and the measured overhead.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
wheels=${1:-}
results=${2:-gpu-results.md}
python=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

export PYTHONPATH="$root/src" PYTHONDONTWRITEBYTECODE=1
if [ -n "$wheels" ]; then
    "$python" -m pip install --quiet --no-index --no-deps --no-compile --target "$work/site" "$wheels"/*.whl
    export PYTHONPATH="$PYTHONPATH:$work/site"
fi

"$python" - <<'EOF'
import sys
import pytest
import torch
version = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
if version < (2, 11):
    sys.exit(f"torch {torch.__version__} is too old: 2.11 or newer is needed")
if not torch.cuda.is_available():
    sys.exit("no CUDA device that torch can use")
print(f"{torch.cuda.get_device_name(0)}, torch {torch.__version__}, pytest {pytest.__version__}")
EOF

status=0
cd "$root"
DEVICEFIX_FIXTURE_RESULTS="$work/fixtures.jsonl" "$python" -m pytest tests/verify -m gpu -q -p no:cacheprovider \
    --junitxml="$work/junit.xml" || status=$?
"$python" benchmarks/bench_simulator.py >"$work/bench.txt" || true

"$python" scripts/gpu_table.py "$work" >"$results"
echo "results: $results"
exit "$status"
