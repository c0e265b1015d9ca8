"""The ledger: which mechanisms were applied to whose secrets, so that releases are added up.

A ledger is a file of lines, one for the intent to release (written before anything is drawn) and
one for its end. Every line holds the hash of the one before, and a head beside the user's own
ledger says how far each ledger had come, so that lines that were changed, taken out or cut off are
noticed, and a ledger that is gone as well. A copy under another name begins without a head: its end
may be cut. Who may write all of these files can rewrite the past, and who names another ledger each
time, or none, is not warned: nothing on one's own machine can keep its owner from that.

Secrets are known again by a fingerprint under a key that lies beside the ledger, wherever their
file lies and whatever it is called. The ledger holds no values, no counts, no paths, no priors;
kernels, which may be known, lie in a folder beside it, each once.
"""

from __future__ import annotations

import datetime
import gzip
import hashlib
import json
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from .._public_form import quiet_form
from ..errors import (
    DataError,
    InputError,
    MechdesignError,
    RepeatWarning,
    StorageError,
    is_iterable,
    warn,
)
from ..files import check_folder, check_named, check_writable, read_text, write_text
from ..labels import counted
from ..mechanism import ImplicitKernel, Mechanism, kernel_of, mechanism_of
from ..privacy.notion import PrivacyNotion, parse_notion
from ..privacy.pointwise import PML
from ..published import kernel_fingerprint, shown_fingerprint
from ..storage import from_json, to_json
from ..subsets import SubsetSelection
from ..theory._composition import compose
from ..theory._odometer import Odometer
from .identities import encode_identities, hashed
from .persons import (
    UNBOUNDED,
    Budget,
    Charge,
    Draw,
    Judge,
    PersonAccount,
    PersonDraws,
    Persons,
    level_of,
    warn_of_charge,
    whom,
)
from .receipts import Fingerprint, Receipt
from .same_releases import (
    by_column,
    distinct,
    is_again,
    known_secrets,
    report_inputs,
    same_secrets,
)

FORMAT = "mechdesign-ledger"
SCHEMA = 2
# Names the file of the user's own ledger; what is kept of other ledgers lies beside it.
_VARIABLE = "MECHDESIGN_LEDGER"
_FEWEST = 50  # rows that are not alike by chance
_START = 400  # characters that say what a file is
_MOST_NAMES = 3  # of other releases in a warning
_PATIENCE = 60  # seconds to wait for another process that writes a line


def default_ledger() -> Path:
    """The user's own ledger: what ``MECHDESIGN_LEDGER`` names, else in the user's data folder."""
    from platformdirs import user_data_path

    named = os.environ.get(_VARIABLE)
    try:
        if named:
            return Path(named).expanduser()
        return user_data_path("mechdesign", appauthor=False) / "ledger.jsonl"
    except RuntimeError as problem:  # no home folder, as in containers, or nobody of that name
        raise StorageError(
            f"ledger: where your own lies is not known ({problem}), so nothing was released; let "
            f"{_VARIABLE} name a file in a folder of yours."
        ) from None


@dataclass(frozen=True)
class ReleasedColumn:
    """One column of a release of several.

    Attributes
    ----------
    column : its name
    secrets : its fingerprint, under the ledger's key
    designed : what drew its reports, which may have drawn those of others with them
    """

    column: str
    secrets: Fingerprint
    designed: Any

    @property
    def kernel(self) -> str:
        """Fingerprint of the kernel."""
        return kernel_fingerprint(kernel_of(self.designed))

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "column": self.column,
            "secrets": vars(self.secrets),
            "kernel": self.kernel,
            "notions": _specs(self.designed),
        }


class Ledger:
    """A file of releases.

    Parameters
    ----------
    path : file, optional
        The user's own ledger when left out, see :func:`default_ledger`.

    Raises
    ------
    StorageError
        In every method, for a file that is no ledger, was edited or cut, or cannot be written.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        check_named(path, "ledger")
        self.path = default_ledger() if path is None else Path(path)
        self._is_own = path is None
        self._known_key: bytes | None = None

    def releases(self) -> list[dict[str, Any]]:
        """All releases, the oldest first; those that failed before anything was seen left out.

        ``finished`` is false where the end of a release was not written: it is under way, or was
        stopped when its reports may have been there already.
        """
        with self._locked():
            return _releases(self._lines())

    @property
    def key(self) -> bytes:
        """The key of the fingerprints, made when it is first needed."""
        with self._locked():
            return self._key()

    def open(
        self,
        fingerprint: Fingerprint,
        pairs: str | None,
        about: str,
        name: str,
        receipt: Receipt,
        designed: Any,
        output: str,
        parts: Sequence[ReleasedColumn] = (),
        *,
        person_draws: PersonDraws | None = None,
        budget: Budget | None = None,
    ) -> int:
        """Write that a release is about to happen, and warn of those before; returns its number.

        Parameters
        ----------
        fingerprint : of the secrets, under the ledger's key
        pairs : fingerprint of identities with their symbols under that key, where reports are
            drawn by identities
        about : text that says who they are about, the file or a name
        name : how they are called in warnings
        output : name of the file of reports
        parts : each column of a release of several
        person_draws : what is drawn of whom, where rows say whom they are about; who gets an
            earlier report stands in it then
        budget : what all draws of one person may come to, as of ``read_budget``
        """
        kernel = None if designed is None else kernel_of(designed)
        with self._locked():
            lines = self._lines()
            who = self._hidden(about)
            before = _releases(lines)
            _refuse_reports(before, fingerprint, receipt.column)
            known = by_column(before)
            drawn_by = report_inputs(pairs, receipt)
            told: dict[str, Any] = {}
            with ExitStack() as stack:
                hidden = None
                if person_draws is not None:
                    hidden = self._people(person_draws.people)
                    told_by = [p.designed for p in parts] if kernel is None else [designed]
                    level = min(UNBOUNDED, sum(level_of([one]) for one in told_by))
                    charge, mark = stack.enter_context(
                        self._persons_of(lines).charged(
                            person_draws,
                            _about(receipt),
                            level,
                            self._judge(budget, receipt, designed),
                            budget,
                        )
                    )
                    told["persons"] = _told_of(charge, mark, hidden, budget)
                    if charge.earlier:
                        drawn_by = None
                    warn_of_charge(charge, budget, receipt.column, name)
                    if charge.fresh and not charge.before:
                        hidden = None  # whoever gave the same secrets before had other names
                # The very reports of an earlier release add nothing to what was said of it then.
                if not any(is_again(release, receipt, drawn_by) for release in before):
                    same = same_secrets(known, fingerprint, who, receipt.column, hidden)
                    _warn_of(distinct(same), self, receipt.column, name, designed)
                    known_to = {release["number"] for release in same}
                    for part in parts:
                        found = same_secrets(known, part.secrets, who, part.column, hidden)
                        others = [one for one in found if one["number"] not in known_to]
                        _warn_of(distinct(others), self, part.column, name, part.designed)
            if kernel is not None:
                self._keep(kernel, receipt.kernel)
            for part in parts:
                self._keep(kernel_of(part.designed), part.kernel)
            self._append(
                lines,
                {
                    "kind": "release",
                    "time": _now(),
                    "name": name,
                    "about": [who],
                    "column": receipt.column,
                    "secrets": vars(fingerprint),
                    "kernel": receipt.kernel,
                    "design": receipt.design,
                    "notions": _specs(designed),
                    "source": receipt.source,
                    "output": output,
                    **({} if drawn_by is None else {"drawn by": drawn_by}),
                    **({"parts": [part.to_json() for part in parts]} if parts else {}),
                    **told,
                },
            )
            return len(lines) - 1

    def columns(self) -> frozenset[str]:
        """The names of all columns that were released."""
        return frozenset(release["column"] for release in by_column(self.releases()))

    def known_secrets(self, columns: Mapping[str, Fingerprint], about: str) -> list[str]:
        """Those of some columns of a table that were released as secrets, under the same name.

        They are known by what they hold, or by whom they are about; reports of them are none.

        Parameters
        ----------
        columns : fingerprint of each by its name, under the ledger's key
        about : text that says who they are about, as in :meth:`open`
        """
        if not columns:
            return []
        with self._locked():
            who, known = self._hidden(about), by_column(_releases(self._lines()))
        return known_secrets(known, columns, who)

    def close(self, number: int, reports: Fingerprint | None) -> None:
        """Write how a release ended: with reports, or (``None``) before there were any."""
        end = {"kind": "withdrawn"} if reports is None else {"kind": "done", **vars(reports)}
        with self._locked():
            self._append(self._lines(), {**end, "time": _now(), "of": number})

    def recall(self, person_draws: PersonDraws, receipt: Receipt) -> None:
        """Find whom an earlier release gave an earlier report, to go on with it."""
        with self._locked():
            persons = self._persons_of(self._lines())
            persons.recall(person_draws, _about(receipt))

    def person(self, identity: Any, people: str | None = None) -> PersonAccount:
        """What one person has given away in releases with ``person``.

        Parameters
        ----------
        identity : as in the column of persons; 7 and ``"7"`` are one person
        people : the ``about`` of the releases, none when left out
        """
        found = encode_identities([identity], "person")
        with self._locked():
            persons = self._persons_of(self._lines())
            return persons.account(hashed([whom(self._key(), people).copy], found))

    def people(self) -> tuple[str | None, ...]:
        """Names of the people whose draws are counted person by person, each once.

        ``None`` stands for releases without ``about``.
        """
        with self._locked():
            unnamed = self._people(None)
            found = [r for r in _releases(self._lines()) if "persons" in r]
        names = (None if r["persons"]["people"] == unnamed else r["name"] for r in found)
        return tuple(dict.fromkeys(names))

    def odometer(
        self,
        identity: Any,
        reports: Sequence[Any],
        prior: Any,
        column: str | None = None,
        people: str | None = None,
        *,
        unchanged: bool = False,
    ) -> Odometer:
        """What the reports of one person really told, of one column.

        The kernels are those of the ledger, in the order of the releases; it does not hold reports,
        so those that were made are passed.

        Parameters
        ----------
        identity : as in the column of persons
        reports : what was reported of them, in the order of the releases
        prior : over the symbols, in any form
        column : the name of it, where their releases are about several
        people : the ``about`` of the releases, none when left out
        unchanged : that the value was the same all along, where the ledger does not know: under
            several keys, or without ``person``

        Raises
        ------
        InputError
            For other numbers of reports than draws, several columns, or a value that changed, of
            which reports do not add up.
        StorageError
            Where the ledger no longer has a kernel.
        """
        account = self.person(identity, people)
        drawn = [
            (entry, value)
            for entry, value in zip(account.entries, account.values, strict=True)
            if column is None or entry["column"] == column
        ]
        given = list(reports) if is_iterable(reports) and not isinstance(reports, str) else []
        kernels = [entry["kernel"] for entry, _ in drawn for _ in range(entry.get("times", 1))]
        columns = len({entry["column"] for entry, _ in drawn})
        if columns != 1 or len(given) != len(kernels):
            raise InputError(
                "reports of a person",
                expected=f"{len(kernels)}, one for each draw, of one column",
                got=f"{counted(len(given), 'report')}, and draws of {counted(columns, 'column')}",
                remedy="pass each report once, in order, and name the column",
            )
        values = {value for _, value in drawn}
        is_known = len(kernels) == 1 or (len(values) == 1 and None not in values)
        if not (is_known or unchanged is True):
            raise InputError(
                "reports of a person",
                expected="draws about one value",
                got="draws of which the ledger does not know that",
                remedy="say unchanged=True where the value never changed; else the ledger knows "
                "bounds alone (Ledger.person)",
            )
        told = Odometer(prior)
        for fingerprint, report in zip(kernels, given, strict=True):
            kernel = self.kernel(fingerprint)
            if not isinstance(kernel, Mechanism):
                raise StorageError(
                    f"ledger {self.path}: expected the matrix of kernel "
                    f"{shown_fingerprint(fingerprint)}, got none; take its file from a copy."
                )
            told = told.after(kernel, report)
        return told

    def _people(self, name: str | None) -> str:
        return self._hidden(f"people {name or ''}")

    def _judge(self, budget: Budget | None, receipt: Receipt | None, designed: Any) -> Judge:
        """What draws about one value come to: exactly, where their kernels are small enough.

        Levels under a prior are told of the column of a release, under the prior of its design.
        """
        prior, own = None, receipt.column if receipt is not None else None
        if budget is not None and isinstance(budget.notion, PML):
            prior = getattr(designed, "prior", None)
            if prior is None:
                raise InputError(
                    "budget",
                    expected=f"a design with its prior for {budget.notion}",
                    got="a kernel without",
                    remedy="pass the design as it was saved, or give the budget as md.LDP(level)",
                )
        made: dict[str, Any] = {}
        if receipt is not None and designed is not None:
            made[receipt.kernel] = kernel_of(designed)

        @lru_cache(None)
        def judged(drawn: tuple[Draw, ...]) -> tuple[int, int]:
            size = min(UNBOUNDED, sum(level for *_, level in drawn))
            for _, fingerprint, _ in drawn:
                if fingerprint not in made:
                    made[fingerprint] = self.kernel(fingerprint)
            kernels = [made[fingerprint] for _, fingerprint, _ in drawn]
            if not all(isinstance(kernel, Mechanism) for kernel in kernels):
                return size, size
            inputs = kernels[0].inputs if prior is None else prior.labels
            if any(set(kernel.inputs) != set(inputs) for kernel in kernels):
                return size, size
            kernels = [_in_order(kernel, inputs) for kernel in kernels]
            if len({fingerprint for _, fingerprint, _ in drawn}) > 1:
                size = min(size, level_of(kernels))
            if prior is None or drawn[0][0] != own:
                return size, size
            return min(size, level_of(kernels, prior)), size

        return lambda drawn: judged(tuple(sorted(drawn)))

    def kernel(self, fingerprint: str) -> Mechanism | SubsetSelection | None:
        """A kernel that was applied, where its file is still there and unchanged."""
        try:
            text = gzip.decompress((self._kernels / f"{fingerprint}.json.gz").read_bytes())
            saved = from_json(json.loads(text))
            found = saved if isinstance(saved, SubsetSelection) else mechanism_of(saved)
        except (OSError, EOFError, ValueError, KeyError, TypeError, MechdesignError):
            return None
        return found if kernel_fingerprint(found) == fingerprint else None

    # Files

    @property
    def _kernels(self) -> Path:
        return self.path.with_name(self.path.name + ".kernels")

    @property
    def _key_file(self) -> Path:
        return self.path.with_name(self.path.name + ".key")

    def _persons_of(self, lines: Sequence[str]) -> Persons:
        """What persons gave away, checked to be as far as the ledger."""
        found = Persons(self.path.with_name(self.path.name + ".persons"))
        told = [json.loads(line).get("persons") for line in lines]
        marks = [one["mark"] for one in told if one]
        found.check(marks[-1] if marks else None)
        return found

    @property
    def head_file(self) -> Path:
        """Where it is kept how far this ledger had come: beside the user's own ledger."""
        digest = hashlib.sha256(os.fsencode(self.path.resolve())).hexdigest()[:24]
        return default_ledger().parent / "heads" / f"{digest}.json"

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Nobody else writes meanwhile."""
        from filelock import FileLock, Timeout

        try:
            # First, as another ledger is no remedy where the heads cannot be kept.
            self._make_place()
            if self._is_own or self.path == default_ledger():
                self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            check_writable(self.path, overwrite=True, subject="ledger")
            self._check_kind()
            lock = self.path.with_name(self.path.name + ".lock")
            check_folder(lock)
            with FileLock(lock, mode=0o600, timeout=_PATIENCE):
                yield
        except Timeout:
            raise StorageError(
                f"ledger {self.path}: another process has kept it for {_PATIENCE} seconds; end "
                "that process, or name another ledger."
            ) from None
        except OSError as problem:
            raise StorageError(
                f"ledger {self.path}: cannot be written ({problem.strerror}), so nothing was "
                f"released; name another with --ledger or {_VARIABLE}."
            ) from None

    def _check_kind(self) -> None:
        """Leave nothing beside a file that was never a ledger, or whose key is gone."""
        headless, keyless = not self.head_file.exists(), not self._key_file.exists()
        if not self.path.exists() or not (headless or keyless):
            return
        text = read_text(self.path)
        if headless and text and FORMAT not in text[:_START]:
            raise StorageError(
                f"ledger {self.path}: expected a ledger written by mechdesign, got something "
                "else; choose another name for the ledger."
            )
        if keyless:
            raise self._keyless()

    def _make_place(self) -> None:
        """Make the folder where heads are kept."""
        folder = self.head_file.parent
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as problem:
            raise StorageError(
                f"ledger {self.path}: how far it has come cannot be kept in {folder} "
                f"({problem.strerror}), so nothing was released; let {_VARIABLE} name a file in a "
                "folder of yours."
            ) from None

    def _key(self) -> bytes:
        if self._known_key is None:
            self._known_key = self._read_key()
        return self._known_key

    def _read_key(self) -> bytes:
        if self._key_file.exists():
            try:
                key = bytes.fromhex(read_text(self._key_file).strip())
            except ValueError:
                key = b""
            if len(key) == 32:
                return key
        elif not self.path.exists():
            # No new key in the place of one whose ledger comes back from a copy.
            self._check_there(self._head())
            write_text(secrets.token_hex(32) + "\n", self._key_file, overwrite=False, private=True)
            return self._read_key()
        raise self._keyless()

    def _keyless(self) -> StorageError:
        return StorageError(
            f"ledger {self.path}: its key {self._key_file.name} is gone or damaged, so secrets "
            "are not known again; take it back from a copy, or begin another ledger."
        )

    def _hidden(self, text: str) -> str:
        return hashlib.blake2b(text.encode(), digest_size=16, key=self._key()).hexdigest()

    def _chained(self, line: str) -> str:
        return hashlib.blake2b(line.encode(), digest_size=32, key=self._key()).hexdigest()

    def _lines(self) -> list[str]:
        """The lines of the ledger, checked; none where there is no ledger yet."""
        head = self._head()
        self._check_there(head)
        if not self.path.exists():
            return []
        lines = read_text(self.path).split("\n")
        # A line that a stopped process did not end was never counted.
        lines.pop()
        previous = ""
        try:
            for line in lines:
                content = json.loads(line)
                if content["previous"] != previous:
                    raise ValueError
                previous = self._chained(line)
            first = json.loads(lines[0])
            known = first["format"] == FORMAT
        except (ValueError, KeyError, TypeError, IndexError, RecursionError):
            raise self._damaged(
                "lines that each hold the hash of the one before", "others"
            ) from None
        if not known or first["schema"] != SCHEMA:
            raise StorageError(
                f"ledger {self.path}: expected schema version {SCHEMA}, got "
                f"{first.get('schema')!r}; upgrade mechdesign to read it."
            )
        if head is not None and (
            len(lines) < head[0] or self._chained(lines[head[0] - 1]) != head[1]
        ):
            raise self._damaged(f"the {head[0]} lines that were written", f"{len(lines)} or others")
        return lines

    def _check_there(self, head: tuple[int, str] | None) -> None:
        if head is not None and not self.path.exists():
            raise self._damaged(f"the {head[0]} lines that were written", "no ledger")

    def _head(self) -> tuple[int, str] | None:
        """Number of lines and hash of the last, as they were when this user last wrote."""
        if not self.head_file.exists():
            return None
        try:
            content = json.loads(read_text(self.head_file))
            return int(content["lines"]), str(content["hash"])
        except (ValueError, KeyError, TypeError):
            raise self._damaged("its head as it was written", "another") from None

    def _damaged(self, expected: str, got: str) -> StorageError:
        return StorageError(
            f"ledger {self.path}: expected {expected}, got {got}, so it was edited or removed, and "
            "releases may be missing; take the original from a copy (where it was removed on "
            f"purpose, remove {self.head_file} too, and what was released before is forgotten)."
        )

    def _append(self, lines: list[str], content: dict[str, Any]) -> None:
        """Add a line to the file and the list; the ledger is locked."""
        if not lines:
            lines.append(_first_line())
            write_text(lines[0] + "\n", self.path, overwrite=True, private=True)
        line = json.dumps({**content, "previous": self._chained(lines[-1])})
        whole = sum(len(part.encode()) + 1 for part in lines)
        with open(os.open(self.path, os.O_WRONLY), "wb") as file:
            file.truncate(whole)
            file.seek(whole)
            file.write(line.encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        lines.append(line)
        head = {"ledger": self.path.name, "lines": len(lines), "hash": self._chained(line)}
        write_text(json.dumps(head) + "\n", self.head_file, overwrite=True, private=True)

    def _keep(self, kernel: Mechanism | ImplicitKernel, fingerprint: str) -> None:
        """Keep a kernel beside the ledger, once."""
        if self.kernel(fingerprint) is not None:
            return
        self._kernels.mkdir(exist_ok=True, mode=0o700)
        kept = kernel if isinstance(kernel, SubsetSelection) else mechanism_of(kernel)
        packed = gzip.compress(json.dumps(to_json(quiet_form(kept))).encode(), mtime=0)
        target = self._kernels / f"{fingerprint}.json.gz"
        with open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(packed)


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def _first_line() -> str:
    return json.dumps({"format": FORMAT, "schema": SCHEMA, "made": _now(), "previous": ""})


def _releases(lines: Sequence[str]) -> list[dict[str, Any]]:
    found: dict[int, dict[str, Any]] = {}
    for number, line in enumerate(lines):
        content = json.loads(line)
        if content.get("kind") == "release":
            found[number] = {**content, "number": number, "finished": False}
        elif content.get("kind") == "done" and content["of"] in found:
            found[content["of"]].update(finished=True, reports=content.get("sequence"))
        elif content.get("kind") == "withdrawn":
            found.pop(content["of"], None)
    return list(found.values())


def _about(receipt: Receipt) -> dict[str, Any]:
    """What the table of draws keeps of a release."""
    return {
        "time": _now(),
        "secret": receipt.column,
        "kernel": receipt.kernel,
        "round": receipt.round,
    }


def _told_of(charge: Charge, mark: str, people: str, budget: Budget | None) -> dict[str, Any]:
    """What a line of the ledger says of the persons of a release."""
    return {
        "people": people,
        "number": charge.persons,
        "draws": charge.fresh,
        "mark": mark,
        **({} if budget is None else {"budget": str(budget.notion)}),
        **({"earlier": charge.earlier} if charge.earlier else {}),
    }


def _refuse_reports(releases: Sequence[dict[str, Any]], finger: Fingerprint, column: str) -> None:
    """Refuse to privatise what this ledger knows to be reports.

    Few rows may be alike by chance, and reports that equal their secrets are no other column.
    """
    for release in releases:
        known = release.get("reports")
        own = (release.get("secrets") or {}).get("sequence")
        if known == finger.sequence != own and finger.rows >= _FEWEST:
            raise DataError(
                f"column {column!r}",
                expected="the secret itself",
                got=f"reports that were drawn on {release['time'][:10]}, by the ledger",
                remedy="privatise the original column once, and keep these reports",
            )


def _warn_of(
    same: Sequence[dict[str, Any]],
    ledger: Ledger,
    column: str,
    name: str,
    designed: Any,
) -> None:
    """Warn of earlier releases of the same secrets, with what all add up to."""
    if not same:
        return
    made = {row["kernel"]: ledger.kernel(row["kernel"]) for row in same}
    parts = [made[row["kernel"]] for row in same]
    total = "what they add up to is not known, as the kernel of one is gone"
    kept = [part for part in parts if part is not None]
    if len(kept) == len(parts):
        try:
            if designed is None:
                raise InputError("a kernel too large to be made")
            kept = [_in_order(part, kernel_of(designed).inputs) for part in kept]
            total = str(compose(*kept, designed, **_asked(designed, same)))
        except InputError:
            total = "what they add up to is not known, as the mechanisms have different inputs"
    open_ = sum(not row["finished"] for row in same)
    unfinished = ""
    if open_:
        are = "are" if open_ > 1 else "is"
        unfinished = f" ({open_} of them {are} under way or stopped, and count{'s' * (open_ == 1)})"
    last = max(row["time"] for row in same)
    own = f"column {column!r} of {name}"
    # Releases are known by their secrets, too, and those of others keep their own names.
    told = [*dict.fromkeys(f"column {row['column']!r} of {row['name']}" for row in same)]
    more = f" and {len(told) - _MOST_NAMES} more" if len(told) > _MOST_NAMES else ""
    as_others = "" if told == [own] else f" (as {', '.join(told[:_MOST_NAMES])}{more})"
    if all(row["in_other_order"] for row in same):
        own += " (its values, in another order)"
    warn(
        f"{own} was released {counted(len(same), 'time')} before{as_others}, last on {last[:10]}"
        f"{unfinished}; {total}; keep the earlier reports instead, unless that much leakage is "
        "allowed",
        RepeatWarning,
    )


def _in_order(
    kernel: Mechanism | SubsetSelection, inputs: Sequence[Any]
) -> Mechanism | SubsetSelection:
    """The kernel with its rows in the order of the inputs, where it has the same."""
    if (
        isinstance(kernel, SubsetSelection)
        or kernel.inputs == inputs
        or set(kernel.inputs) != set(inputs)
    ):
        return kernel
    rows = kernel.weights[[kernel.inputs.index(label) for label in inputs]]
    return Mechanism.over(rows, kernel.denominator, inputs, kernel.outputs, check=False)


def _asked(designed: Any, earlier: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The notions that any of the releases was to keep, under the prior that is at hand."""
    prior = getattr(designed, "prior", None)
    if prior is None:
        return {}
    notions: list[PrivacyNotion] = list(getattr(designed, "notions", ()))
    for spec in (spec for row in earlier for spec in row.get("notions", ())):
        notion = parse_notion(spec)
        if not any(_kind(notion) == _kind(known) for known in notions):
            notions.append(notion)
    return {"notions": notions or None, "prior": prior}


def _kind(notion: PrivacyNotion) -> PrivacyNotion:
    return notion.with_levels(*([1.0] * len(notion.levels)))


def _specs(designed: Any) -> list[str]:
    """The notions of a design as they are written on the command line, where they can be."""
    return [notion.spec for notion in getattr(designed, "notions", ()) if _is_readable(notion)]


def _is_readable(notion: PrivacyNotion) -> bool:
    try:
        return parse_notion(notion.spec) == notion
    except InputError:
        return False
