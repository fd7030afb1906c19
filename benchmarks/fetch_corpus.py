"""Download the packages that the benchmarks read.

    python benchmarks/fetch_corpus.py [FOLDER [NAME]...]

FOLDER is corpus/ in the repository, which git ignores, if it is not given; with NAMEs only these packages are taken.

Takes the wheels named in corpus.txt from the package index and unpacks their .py files, nothing else. Nothing of them
is executed or installed. What is there already is kept. About 300 MB are downloaded, 200 MB remain.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
#: Wheels of old packages are tagged for the Python of their time.
OLDER = ("3.12", "3.9", "3.8", "3.7", "3.6")


def main() -> int:
    """Run the command line; the exit code."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE.parent / "corpus"
    wanted = sys.argv[2:]
    missing = []
    for requirement in (HERE / "corpus.txt").read_text(encoding="utf-8").split():
        name = requirement.partition("==")[0]
        target = folder / name
        if target.exists() or (wanted and name not in wanted):
            continue
        with tempfile.TemporaryDirectory() as downloads:
            wheel = download(requirement, Path(downloads))
            if wheel is None:
                missing.append(requirement)
                continue
            print(f"{requirement}: {unpack(wheel, target)} files", flush=True)
    if missing:
        print(f"not found: {' '.join(missing)}", file=sys.stderr)
    return 1 if missing else 0


def download(requirement: str, folder: Path) -> Path | None:
    """The wheel of a package, for this Python or an older one."""
    if not pip_download(requirement, folder):
        any(pip_download(requirement, folder, *tags(version)) for version in OLDER)
    return next(folder.glob("*.whl"), None)


def tags(version: str) -> list[str]:
    """What asks pip for wheels of another Python."""
    abi = f"cp{version.replace('.', '')}" + ("m" if version in ("3.6", "3.7") else "")
    platforms = ("manylinux2014_x86_64", "manylinux1_x86_64", "linux_x86_64", "any")
    asked = ["--implementation", "cp", "--python-version", version, "--abi", abi, "--abi", "none"]
    return asked + [word for platform in platforms for word in ("--platform", platform)]


def pip_download(requirement: str, folder: Path, *options: str) -> bool:
    """Whether pip found a wheel."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    done = subprocess.run([*command, "--dest", str(folder), *options, requirement], capture_output=True, check=False)
    return done.returncode == 0


def unpack(wheel: Path, target: Path) -> int:
    """Write the .py files of a wheel below a folder, all or none. Returns how many there are."""
    partial = target.with_name(target.name + ".partial")
    count = 0
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            path = (partial / name).resolve()
            if not name.endswith(".py") or not path.is_relative_to(partial.resolve()):
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(archive.read(name))
            count += 1
    partial.mkdir(parents=True, exist_ok=True)
    partial.rename(target)
    return count


if __name__ == "__main__":
    sys.exit(main())
