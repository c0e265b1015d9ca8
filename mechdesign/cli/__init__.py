"""What can be done from a terminal? One file per command, with its name.

In: arguments, which ``arguments`` and ``options`` read.
Out: what Python gives for them, shown by ``views`` on standard output; everything else goes to
standard error. Exit codes: 0 done; 1 an audited kernel does not (provably) meet an asked level, or
a checked result fails; 2 the input cannot be used; 3 a solver or an exact check failed; 4 no kernel
does what is asked, which is proved. Those of ``verify`` are its own.

No input makes :func:`main` raise; where code of one's own does, the message names its method.
"""

from __future__ import annotations

import gc
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .. import __version__
from ..errors import (
    InfeasibleError,
    InputError,
    MechdesignError,
    NoMethodError,
    StorageError,
    visible,
)
from .exit_codes import BAD_INPUT, FAILED, INFEASIBLE, OK

#: New objects after which cycles of them are looked for.
_OBJECTS = 200_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    asked = list(sys.argv[1:] if arguments is None else arguments)
    with warnings.catch_warnings(), _rare_collections():
        warnings.simplefilter("default")
        warnings.showwarning = _show_warning
        for stream in (sys.stdout, sys.stderr):
            # A label that the terminal cannot show is written as its code.
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        try:
            code = _run(asked)
            if code == 130:
                return _fail("interrupted; nothing was written", 130)
            sys.stdout.flush()
        except (InputError, StorageError) as problem:
            return _fail(str(problem), BAD_INPUT)
        except NoMethodError as problem:
            return _fail(f"{problem}; ask for other notions or another solver.", BAD_INPUT)
        except InfeasibleError as problem:
            return _fail(str(problem), INFEASIBLE)
        except MechdesignError as problem:
            untold = getattr(problem, "is_proved", False)
            return _fail(str(problem), INFEASIBLE if untold else FAILED)
        except (BrokenPipeError, SystemExit):
            # Whoever read our output has seen enough (typer leaves by SystemExit then).
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return OK
        except OSError as problem:
            return _fail(f"output cannot be written ({problem.strerror})", FAILED)
        except Exception as problem:
            if not hasattr(problem, "format_message"):
                raise
            text = problem.format_message()
            if type(problem).__name__ == "NoArgsIsHelpError":
                print(text, file=sys.stderr)
                return BAD_INPUT
            if text:
                return _fail(text, BAD_INPUT)
            return BAD_INPUT
        except KeyboardInterrupt:
            return _fail("interrupted; nothing was written", 130)
    return int(code or OK)


def _run(arguments: list[str]) -> Any:
    """The exit code of the command, or what typer gives in its place."""
    if arguments == ["--version"]:
        # Asked by many a script, and known without anything that a command needs.
        print(f"mechdesign {__version__}")
        return OK
    from typer.main import get_command

    from .application import application

    command = get_command(application(arguments))
    return command.main(args=arguments, prog_name="mechdesign", standalone_mode=False)


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Look for unreachable cycles of objects less often.

    Hardly any are made, and each look goes through all that the modules of a command consist of.
    """
    before = gc.get_threshold()
    gc.set_threshold(_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _fail(message: str, code: int) -> int:
    print("error: " + visible(" ".join(message.split())), file=sys.stderr)
    return code


def _show_warning(message: Any, *_: Any, **__: Any) -> None:
    print("warning: " + visible(" ".join(str(message).split())), file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
