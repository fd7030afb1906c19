"""``devicefix`` and ``python -m devicefix``."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its status."""
    sys.exit(run(sys.argv[1:] if arguments is None else list(arguments)))


def run(arguments: list[str]) -> int:
    """Run the command line. Returns the exit status."""
    try:
        return _dispatch(arguments)
    except KeyboardInterrupt:
        print("devicefix: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader of our output (`| head`) is gone; point the stream elsewhere so that closing it is silent.
        import os

        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


def _dispatch(arguments: list[str]) -> int:
    if arguments in (["--version"], ["-V"]):
        from devicefix import __version__

        print(f"devicefix {__version__}")
        return 0
    if arguments[:1] == ["server"] and len(arguments) == 1:
        from devicefix.cli.server import serve

        return serve()
    from devicefix.cli.options import parse_quickly

    options = parse_quickly(arguments)
    if options is not None:
        from devicefix.cli.check import run_check

        return run_check(options)
    from devicefix.cli.app import run_app

    return run_app(arguments)


if __name__ == "__main__":
    main()
