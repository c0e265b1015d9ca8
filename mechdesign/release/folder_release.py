"""Many files as one release: those of a folder or of a pattern, gone on with after a stop.

All files are checked as one table before anything is drawn. Then each gets its copy, whole, under
the same name in another folder. What is finished is written down before it can be seen, in a hidden
folder that goes when all is done, so that a run that was stopped goes on where it was: a file whose
reports may have been seen is never drawn again, unless a key or a seed gives the same reports.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from hashlib import blake2b, file_digest
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

from ..errors import DataError, InputError, LeftoverWarning, StorageError, asked_by, quote, warn
from ..files import OVERWRITTEN, check_folder, publish, read_json, write_text
from ..progress import counter
from ..tables.files import RUN, Inputs, file_ending, is_text, receipt_path
from ..tables.reading import open_table
from ..tables.writing import check_held
from .adapters import column_reader
from .drawing import Release
from .file_passes import FileRelease, Survey, check_source, told_apart
from .ledger import Ledger
from .receipts import Receipt, sha256_of

_FORMAT = "mechdesign-run"
_SCHEMA = 1


# What is read


def check_apart(inputs: Inputs, target: Path) -> None:
    """Raise an error where reports would lie among what is read, or the other way round."""
    base, out = inputs.base.resolve(), target.resolve()
    inside = out.is_relative_to(base) and inputs.is_deep
    around = any(path.resolve().is_relative_to(out) for path in inputs.paths)
    if out == base or inside or around:
        raise InputError(
            "output",
            expected="a folder apart from that of the input",
            got=str(target),
            remedy="name another, so that reports are never read as secrets",
        )
    if target.exists() and not target.is_dir():
        raise StorageError(
            f"output {target}: expected a folder for several files, got a file; choose another "
            "name."
        )
    if not target.absolute().parent.is_dir():
        raise StorageError(
            f"output {target}: expected an existing folder around it, got {target.parent}; create "
            "it first."
        )


def _check_tables(inputs: Inputs, asked: FileRelease) -> None:
    """Raise an error for files that are no parts of one table, or whose names tell a secret."""
    release, dialect = asked.release, asked.written.dialect
    told_names = [*release.columns, *(target.column for target in release.targets), asked.person]
    told = {str(name) for name in told_names if name is not None}
    for name in inputs.names:
        for part in PurePosixPath(name).parts[:-1]:
            column = unquote(part.partition("=")[0])
            if "=" in part and column in told:
                raise DataError(
                    f"column {column!r}",
                    expected="its values inside the files",
                    got="names of folders that tell them, and would be those of the reports",
                    remedy="write the files again without that partition",
                )
    first = None
    for path in inputs.paths:
        with told_apart(path, inputs.paths):
            for column in release.secret_columns:
                check_source(path, str(column))
            schema = open_table(path, dialect).schema
            release.check_names(schema.names)
            first = first or schema
            if not schema.equals(first):
                raise DataError(
                    "table",
                    expected=f"the columns and types of {inputs.names[0]}",
                    got="others",
                    remedy="privatise files of other columns apart",
                )
    check_held(asked.schema_after(path, open_table(path, dialect)), path)


# What is written


class _Run:
    """A release of several files, under way: which are finished, and what was asked for.

    Parameters
    ----------
    target : folder of the reports
    key : under which files are known again, that of the ledger; without one the run has its own
    """

    def __init__(self, target: Path, key: bytes) -> None:
        self.target, self.folder, self._key = target, target / RUN, key
        self._file, self._journal = self.folder / "run.json", self.folder / "made.jsonl"
        self.state: dict[str, Any] | None = None
        self.made: dict[str, dict[str, str]] = {}
        if self._file.exists():
            self._load()
        self._key = self._key or secrets.token_bytes(32)

    def _load(self) -> None:
        damaged = StorageError(
            f"output {self.target}: expected the run that was stopped there as it was written, got "
            "something else; name another folder (what is in this one counts as released)."
        )
        state = read_json(self._file)
        if not isinstance(state, dict) or state.get("format") != _FORMAT:
            raise damaged
        if state.get("schema") != _SCHEMA:
            raise StorageError(
                f"output {self.target}: expected a stopped run of schema version {_SCHEMA}, got "
                f"{quote(state.get('schema'))}; go on with the version that began it."
            )
        try:
            self._key = self._key or bytes.fromhex(state["key"])
            lines = self._journal.read_text(encoding="utf-8").split("\n")
            # What a process that was killed did not end was not published either.
            for line in lines[:-1]:
                entry = json.loads(line)
                self.made[entry["name"]] = {"part": entry["part"], "sha256": entry["sha256"]}
            self.state = {name: state[name] for name in ("asked", "files", "ledger", "number")}
        except (KeyError, TypeError, ValueError, OSError):
            raise damaged from None

    def mark(self, text: str) -> str:
        """What stands for a text that is compared and not told."""
        return blake2b(text.encode(), key=self._key, digest_size=16).hexdigest()

    def digest(self, path: Path) -> str:
        """What tells the contents of a file; only who has the key can try contents out."""
        with open(path, "rb") as file:
            return file_digest(file, lambda: blake2b(key=self._key, digest_size=16)).hexdigest()

    def begin(self, state: dict[str, Any]) -> None:
        """Write down what is about to be released; nothing is there yet."""
        self.state = state
        self.end()
        self.folder.mkdir(mode=0o700)
        self._journal.write_bytes(b"")
        own = "" if state["ledger"] else self._key.hex()
        content = {"format": _FORMAT, "schema": _SCHEMA, "key": own, **state}
        write_text(json.dumps(content) + "\n", self._file, overwrite=True, private=True)

    def check(self, state: dict[str, Any], book: Ledger | None) -> None:
        """Raise :class:`StorageError` where another release was stopped here."""
        assert self.state is not None

        def differing(now: dict[str, Any], before: dict[str, Any]) -> list[str]:
            return [name for name in {**now, **before} if now.get(name) != before.get(name)]

        changed = differing(state["asked"], self.state["asked"])
        changed += ["ledger"] if self.state["ledger"] != state["ledger"] else []
        if changed:
            raise StorageError(
                f"output {self.target}: expected the release that was stopped there, got another "
                f"({', '.join(sorted(changed))}); go on with that one, or name another folder, "
                "which makes a second release."
            )
        others = differing(state["files"], self.state["files"])
        if others:
            raise StorageError(
                f"output {self.target}: expected the input as it was when the release was stopped, "
                f"got {len(others)} file{'s' * (len(others) > 1)} that changed, came or went; take "
                "the input as it was, or name another folder, which makes a second release."
            )
        known = book is None or any(
            entry["number"] == self.state["number"] and entry["column"] == state["asked"]["column"]
            for entry in book.releases()
        )
        if not known:
            raise StorageError(
                f"output {self.target}: expected the ledger of the release that was stopped there, "
                "got one that does not hold it; take that ledger back from a copy."
            )

    def part(self, index: int, ending: str) -> Path:
        """A new empty file that only its owner can read."""
        name = self.folder / f"{index}{ending}"
        name.unlink(missing_ok=True)
        os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        return name

    def note(self, name: str, part: Path) -> None:
        """Write down that a file is finished and about to be seen."""
        with open(part, "rb") as file:
            os.fsync(file.fileno())
        self.made[name] = {"part": part.name, "sha256": sha256_of(part)}
        with open(self._journal, "rb+") as journal:
            # Behind the last whole line.
            whole = journal.read().rpartition(b"\n")
            journal.seek(len(whole[0] + whole[1]))
            journal.truncate()
            journal.write(json.dumps({"name": name, **self.made[name]}).encode() + b"\n")
            journal.flush()
            os.fsync(journal.fileno())

    def publish(self, name: str, *, overwrite: bool) -> None:
        """Give a finished file, and before it its receipt, their names."""
        part, output = self.folder / self.made[name]["part"], self.target / name
        beside = receipt_path(part)
        if beside.exists():
            # That of a file that is not there yet is nobody's.
            publish(beside, receipt_path(output), overwrite=True, private=False)
        publish(part, output, overwrite=overwrite, private=False)

    def status(self, name: str) -> str:
        """Whether a file is "there", waits to be "published", is "gone" or was "edited"."""
        entry, output = self.made[name], self.target / name
        if output.is_file() and sha256_of(output) == entry["sha256"]:
            return "there"
        part = self.folder / entry["part"]
        if part.is_file() and sha256_of(part) == entry["sha256"]:
            return "published"
        return "edited" if output.exists() else "gone"

    def end(self) -> None:
        """Remove what is only needed while files are missing."""
        shutil.rmtree(self.folder, ignore_errors=True)


@contextmanager
def _alone(target: Path) -> Iterator[None]:
    """The right to write into a folder, which is made, and removed where nothing comes into it."""
    from filelock import FileLock, Timeout

    is_new = not target.exists()
    try:
        target.mkdir(exist_ok=True)
        name = target / f"{RUN}.lock"
        lock = FileLock(name, mode=0o600)
        check_folder(name)
        try:
            try:
                lock.acquire(timeout=0)
            except Timeout:
                raise StorageError(
                    f"output {target}: expected a folder that nobody else writes, got one that "
                    "another process is writing; wait for it, or choose another name."
                ) from None
            yield
        finally:
            if lock.is_locked:
                name.unlink(missing_ok=True)
                lock.release()
    except OSError as problem:
        raise StorageError(f"output {target}: cannot be written ({problem.strerror}).") from None
    finally:
        if is_new and target.is_dir() and not any(target.iterdir()):
            target.rmdir()


def _check_empty(inputs: Inputs, target: Path, *, overwrite: bool) -> None:
    """Raise :class:`StorageError` for a folder with files that would be replaced or mixed in."""
    own = {target / name for name in inputs.names}
    own |= {receipt_path(path) for path in own if is_text(path)}
    files = (path for path in target.rglob("*") if not path.is_dir())
    # What begins with a dot is of a run that was stopped before anything was there, or no table.
    found = [p for p in files if not any(n[0] == "." for n in p.relative_to(target).parts)]
    others = [path for path in found if path not in own]
    if (found and not overwrite) or others:
        raise StorageError(
            f"output {target}: expected a new or empty folder, got one with "
            f"{len(others if overwrite else found)} other files; choose another name"
            + ("." if overwrite else f", or replace reports with {asked_by(*OVERWRITTEN)}.")
        )


def privatize_folder(
    inputs: Inputs, target: Path, asked: FileRelease, *, is_repeatable: bool
) -> Receipt:
    """Privatise a column of several files into a folder, or go on with that.

    Parameters
    ----------
    is_repeatable : whether a key or a seed gives the same reports in another run
    """
    check_apart(inputs, target)
    _check_tables(inputs, asked)
    book, budget = asked.book, asked.budget
    with _alone(target):
        run = _Run(target, asked.key)
        if run.state is None:
            _check_empty(inputs, target, overwrite=asked.overwrite)
        files = {name: run.digest(inputs.base / name) for name in inputs.names}
        settings = {
            **asked.release.settings(is_repeatable, run.mark),
            "spent": None if budget is None else budget.on_spent,
            **asked.written.settings,
        }
        ledger = None if book is None else os.path.realpath(book.path)
        state = {"asked": settings, "files": files, "ledger": ledger}
        if run.state is not None:
            run.check(state, book)
        base = inputs.base.resolve()
        found = asked.survey(inputs.paths, base, target.parent)
        if run.state is None:
            run.begin({**state, "number": asked.intend(found, base, target)})
        elif book is not None and budget is not None and budget.on_spent == "earlier":
            assert found.person_draws is not None
            book.recall(found.person_draws, asked.release.receipt(rows=False))
        assert run.state is not None
        number = run.state["number"]
        _check_made(run, inputs, overwrite=asked.overwrite, is_repeatable=is_repeatable)
        asked = asked.drawing(found)
        try:
            _make_all(run, inputs, found, asked)
        except BaseException:
            if not run.made:
                asked.give_up(number)
                run.end()
            else:
                warn(
                    f"output {target}: {len(run.made)} of {len(inputs.names)} files are finished "
                    "and count as released; the same call again goes on with the others",
                    LeftoverWarning,
                )
            raise
        asked.finish(number, target)
        run.end()
    return replace(asked.release.receipt(rows=False), rows=sum(found.rows), reports=None)


def _check_made(run: _Run, inputs: Inputs, *, overwrite: bool, is_repeatable: bool) -> None:
    """Raise :class:`StorageError` for finished files that are gone and cannot come back."""
    states = {name: run.status(name) for name in run.made}
    lost = [name for name, state in states.items() if state == "gone" and not is_repeatable]
    edited = [name for name, state in states.items() if state == "edited"]
    for names, what, remedy in (
        (lost, "removed", "put them back, as drawing them again would be a second report"),
        (edited, "changed", "put them back as they were"),
    ):
        if names:
            raise StorageError(
                f"output {run.target}: expected the files that were finished before the release "
                f"was stopped, got {len(names)} that "
                f"{'was' if len(names) == 1 else 'were'} {what} since ({names[0]}); {remedy}."
            )
    if overwrite:
        return
    foreign = [n for n in inputs.names if n not in run.made and (run.target / n).exists()]
    if foreign:
        raise StorageError(
            f"output {run.target}: expected no other files, got {len(foreign)} that this release "
            f"did not make ({foreign[0]}); take them away."
        )


def _make_all(run: _Run, inputs: Inputs, found: Survey, asked: FileRelease) -> None:
    """Draw, note and publish each file that is not there."""
    start = 0
    with counter(sum(found.rows), "privatising", show=asked.progress) as advance:
        for index, (name, rows) in enumerate(zip(inputs.names, found.rows, strict=True)):
            path, output = inputs.base / name, run.target / name
            state = run.status(name) if name in run.made else "gone"
            if state == "gone":
                part = run.part(index, file_ending(path))
                mine = replace(
                    asked,
                    release=asked.release.with_words(asked.release.words, start),
                    progress=False,
                )
                with told_apart(path, inputs.paths):
                    mine.write(path, part, output)
                if is_text(path):
                    mine.write_note(receipt_path(part), part, path, output)
                if mine.release.rows != rows:
                    raise DataError(
                        f"table {name}",
                        expected=f"the {rows} rows that it had when it was checked",
                        got=str(mine.release.rows),
                        remedy="privatise files that nobody is writing",
                    )
                asked.stop_if_asked()
                run.note(name, part)
            else:
                made = output if state == "there" else run.folder / run.made[name]["part"]
                _take_in(asked.release, made)
            if state != "there":
                output.parent.mkdir(parents=True, exist_ok=True)
                run.publish(name, overwrite=asked.overwrite)
            start += rows
            advance(rows)


def _take_in(release: Release, path: Path) -> None:
    """Add the reports of a finished file to the fingerprint of all."""
    columns = [str(target.column) for target in release.targets]
    for batch in open_table(path, coded=release.coded).batches(columns):
        release.recall(column_reader(batch))
