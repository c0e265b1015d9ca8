"""What can be done from a terminal? One file per command, with its name.

In: arguments, which ``arguments`` and ``options`` read.
Out: what Python gives for them, shown by ``views`` on standard output; everything else goes to
standard error. Exit codes: 0 done; 1 an audited kernel does not (provably) meet an asked level, or
a checked result fails; 2 the input cannot be used; 3 a solver or an exact check failed; 4 no kernel
does what is asked, which is proved; 5 standard output cannot be written. Those of ``verify`` are
its own, but for 5. Errors and warnings end with the code of their kind (``doctor CODE``).

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
    MechdesignWarning,
    NoMethodError,
    StorageError,
    options_alone,
    visible,
)
from .exit_codes import BAD_INPUT, FAILED, INFEASIBLE, OK, UNWRITTEN

#: New objects after which cycles of them are looked for.
_OBJECTS = 200_000
# Codes of what no class stands for, and where shells ask for completions.
_USAGE, _INTERRUPTED, _OUTPUT = "MD701", "MD702", "MD703"
_COMPLETION = "_MECHDESIGN_COMPLETE"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    asked = list(sys.argv[1:] if arguments is None else arguments)
    _fill_closed_streams()
    if sys.stdout is None or sys.stdout.closed:
        text = (
            "output cannot be written (standard output is closed); send it to a file or /dev/null"
        )
        return _fail(text, UNWRITTEN, _OUTPUT)
    with warnings.catch_warnings(), _rare_collections(), options_alone():
        warnings.simplefilter("default")
        # What other libraries will take away concerns whoever writes programs, not who runs this.
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("default", MechdesignWarning)
        warnings.showwarning = _show_warning
        for stream in (sys.stdout, sys.stderr):
            # A label that the terminal cannot show is written as its code.
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        try:
            code = _run(asked)
            if code == 130:
                return _fail("interrupted; nothing was written", 130, _INTERRUPTED)
            sys.stdout.flush()
        except (InputError, StorageError) as problem:
            return _fail(str(problem), BAD_INPUT, problem.code)
        except NoMethodError as problem:
            text = f"{problem}; ask for other notions or another solver."
            return _fail(text, BAD_INPUT, problem.code)
        except InfeasibleError as problem:
            return _fail(str(problem), INFEASIBLE, problem.code)
        except MechdesignError as problem:
            untold = getattr(problem, "is_proved", False)
            return _fail(str(problem), INFEASIBLE if untold else FAILED, problem.code)
        except (BrokenPipeError, SystemExit):
            # Nobody reads our output any more (typer leaves by SystemExit then).
            _discard(sys.stdout)
            return UNWRITTEN
        except OSError as problem:
            _discard(sys.stdout)
            return _fail(f"output cannot be written ({problem.strerror})", UNWRITTEN, _OUTPUT)
        except Exception as problem:
            if not hasattr(problem, "format_message"):
                raise
            text = problem.format_message()
            if text:
                return _fail(text, BAD_INPUT, _USAGE)
            return BAD_INPUT
        except KeyboardInterrupt:
            return _fail("interrupted; nothing was written", 130, _INTERRUPTED)
    return int(code or OK)


def _run(arguments: list[str]) -> Any:
    """The exit code of the command, or what typer gives in its place."""
    if arguments == ["--version"]:
        # Asked by many a script, and known without anything that a command needs.
        print(f"mechdesign {__version__}")
        return OK
    # A shell that asks for completions says so, and what was typed, in the environment.
    completing = _COMPLETION in os.environ
    if not arguments and not completing:
        from .greeting import greeting

        print(greeting())
        return OK
    if arguments[:1] == ["verify"] and not completing:
        # The checker needs nothing of what other commands are made of.
        from .proving import asked_alone, prove

        if asked_alone(arguments[1:]):
            return prove(arguments[1:])
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:], "--help"]
    from typer.main import get_command

    from .application import application

    command = get_command(application())
    try:
        return command.main(args=arguments, prog_name="mechdesign", standalone_mode=False)
    except SystemExit as left:
        if not completing:
            raise
        return left.code


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


def _fill_closed_streams() -> None:
    """Open nothing in place of standard streams that are closed.

    A file that is written would get their numbers, and with it what libraries print there.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")


def _discard(stream: Any) -> None:
    """Send to nobody what a stream still holds, which Python would write when it ends."""
    try:
        number = stream.fileno()
    except (AttributeError, OSError):  # text in memory
        return
    os.dup2(os.open(os.devnull, os.O_WRONLY), number)


def _tell(line: str) -> None:
    """Print a line on standard error; where nobody reads that, the exit code says what is said."""
    try:
        print(line, file=sys.stderr)
    except OSError:
        _discard(sys.stderr)


def _fail(message: str, exit_code: int, code: str) -> int:
    _tell(f"error: {_line(message)} [{code}]")
    return exit_code


def _show_warning(message: Any, category: type[Warning] = Warning, *_: Any, **__: Any) -> None:
    code = f" [{category.code}]" if issubclass(category, MechdesignWarning) else ""
    _tell(f"warning: {_line(str(message))}{code}")


def _line(text: str) -> str:
    return visible(" ".join(text.split()))


if __name__ == "__main__":
    sys.exit(main())
