"""Check the built packages: what is in them, and that the installed command works without torch.

    python scripts/check_packages.py DIST_FOLDER BARE_ENVIRONMENT

The wheel is installed into a new virtual environment, where it must find the faults of ``examples/`` and must not have
brought torch along.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
IN_SDIST = (
    "pyproject.toml",
    "README.md",
    "LICENSE",
    "src/devicefix/__init__.py",
    "tests/rules/test_examples.py",
    "examples/train.py",
)


def main() -> int:
    """Run the command line; the exit code."""
    dist, bare = Path(sys.argv[1]), Path(sys.argv[2])
    wheels, sdists = list(dist.glob("*.whl")), list(dist.glob("*.tar.gz"))
    if len(wheels) != 1 or len(sdists) != 1:
        return complain(f"expected one wheel and one source package in {dist}")
    problems = in_wheel(wheels[0]) + in_sdist(sdists[0]) or installed(wheels[0], bare)
    for problem in problems:
        complain(problem)
    return 1 if problems else 0


def in_wheel(wheel: Path) -> list[str]:
    """What is missing in the wheel or has no business there."""
    names = set(zipfile.ZipFile(wheel).namelist())
    sources = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src" / "devicefix").rglob("*.py")}
    problems = [f"the wheel lacks {name}" for name in sorted(sources | {"devicefix/py.typed"}) if name not in names]
    others = [name for name in names if not name.startswith("devicefix/") and ".dist-info/" not in name]
    return problems + [f"the wheel brings {name}" for name in sorted(others)]


def in_sdist(sdist: Path) -> list[str]:
    """What is missing in the source package."""
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    return [f"the source package lacks {name}" for name in IN_SDIST if name not in names]


def installed(wheel: Path, bare: Path) -> list[str]:
    """What the installed command gets wrong."""
    venv.create(bare, with_pip=True)
    python, command = bare / "bin" / "python", bare / "bin" / "devicefix"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel], check=True)
    problems = []
    if run(python, "-c", "import torch").returncode == 0:
        problems.append("installing the wheel brought torch along")
    version = run(command, "--version")
    if version.stdout.split()[:1] != ["devicefix"] or version.stdout.split()[1] not in wheel.name:
        problems.append(f"devicefix --version printed {version.stdout!r} {version.stderr!r}")
    for arguments, status in ((["--diff"], 1), (["rules"], 0), (["rule", "DVF101"], 0), (["--help"], 0)):
        folder = [str(ROOT / "examples")] if arguments == ["--diff"] else []
        done = run(command, *arguments, *folder)
        if done.returncode != status or not done.stdout:
            problems.append(f"devicefix {' '.join(arguments)} ended with {done.returncode}: {done.stderr}")
    return problems


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command outside the repository."""
    return subprocess.run(command, cwd="/", capture_output=True, text=True, check=False)


def complain(message: str) -> int:
    """One line on stderr; the exit code of a failure."""
    print(f"check_packages: {message}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
