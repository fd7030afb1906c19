#!/usr/bin/env bash
# Installs devicefix into a fresh virtual environment and runs its tests there.
#
#   scripts/test.sh                 the checks of the code, then the tests without the slow ones and those with editors
#   scripts/test.sh --full          everything: all tests, the documentation, the packages
#   scripts/test.sh [--full] -- …   what follows goes to pytest
#
# DEVICEFIX_TORCH    the torch to install (default: the release that the tables are made from). Where pip would choose a
#                    build for CUDA, several GB large, point PIP_EXTRA_INDEX_URL or PIP_FIND_LINKS to CPU builds.
# DEVICEFIX_VENV     where the environment goes (default: build/venv); what is there is replaced.
# DEVICEFIX_JOBS     how many processes run the tests (default: one per processor, 4 at most).
# PYTHON             the interpreter that the environment is made with (default: python3).
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2

full=
if [ "${1:-}" = --full ]; then full=1; shift; fi
if [ "${1:-}" = -- ]; then shift; fi

torch=${DEVICEFIX_TORCH:-torch==2.13.0}
venv=${DEVICEFIX_VENV:-build/venv}
processors=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
jobs=${DEVICEFIX_JOBS:-$((processors < 4 ? processors : 4))}
bin=$venv/bin
failed=()

step() { # NAME COMMAND…: run it, go on when it fails, remember that it did
    local name=$1 began=$SECONDS
    shift
    echo "--- $name"
    if "$@"; then echo "--- $name: ok ($((SECONDS - began)) s)"; else
        failed+=("$name")
        echo "--- $name: FAILED ($((SECONDS - began)) s)"
    fi
}

install() {
    rm -rf "$venv" && "${PYTHON:-python3}" -m venv "$venv" &&
        "$bin/python" -m pip install --quiet --disable-pip-version-check "$torch" ".[test,lsp,docs,notebook]"
}

documentation() {
    "$bin/python" scripts/build_docs.py --check &&
        NO_MKDOCS_2_WARNING=1 "$bin/python" -m mkdocs build --strict --site-dir "$(mktemp -d)/site"
}

packages() { # build both, install the wheel alone into a bare environment, run its command
    local work
    work=$(mktemp -d) &&
        "$bin/python" -m build --outdir "$work/dist" . >"$work/log" 2>&1 || { cat "$work/log"; return 1; }
    "$bin/python" scripts/check_packages.py "$work/dist" "$work/bare"
}

editors() { # everything has just been installed, so a test that is skipped is one that failed to find it
    local log
    [ -e scripts/install_editors.sh ] || { echo "there is no scripts/install_editors.sh"; return 1; }
    scripts/install_editors.sh || { echo "the editors could not be installed (no network?)"; return 1; }
    log=$(mktemp)
    "$bin/python" -m pytest -q -rs -m editor "$@" tests/editors | tee "$log" || return 1
    ! grep -q "^SKIPPED" "$log"
}

echo "--- installing into $venv"
install || { echo "--- installing: FAILED"; exit 1; }
"$bin/python" -c "import sys, torch; print('Python', sys.version.split()[0], 'torch', torch.__version__)"

step "ruff" "$bin/ruff" check .
step "format" "$bin/ruff" format --check .
step "mypy" "$bin/mypy"
if [ -n "$full" ]; then
    step "torch tables" "$bin/python" scripts/generate_torch_api.py --check
    step "documentation" documentation
    step "packages" packages
    step "editors" editors "$@"
    chosen="not gpu and not editor"
else
    chosen="not slow and not editor and not gpu"
fi
step "tests" "$bin/python" -m pytest -q -n "$jobs" --dist worksteal -m "$chosen" "$@"

if [ ${#failed[@]} -gt 0 ]; then
    echo "failed: ${failed[*]}"
    exit 1
fi
