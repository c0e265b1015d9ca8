"""What the commands share: options, what their texts name, exit codes, ways to print."""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from ..arguments import (
    OF_COLUMNS,
    WORST,
    align_prior,
    is_file,
    read_error,
    read_estimation,
    read_outputs,
    read_prior,
    read_utility,
    read_worst_case,
)
from ..errors import InputError, LevelError, UnknownNameError, quote
from ..extensions import check_name_or_module, find, is_import_path, make
from ..labels import Label
from ..progress import waiting
from ..tables.text import Dialect
from .output import note, say

if TYPE_CHECKING:
    from ..mechanism import Mechanism
    from ..prior import Prior
    from ..privacy.notion import PrivacyNotion
    from ..release._identifiability import Identification
    from ..release.reports import ReportFile
    from ..requirement import Requirement
    from ..solve._design import Design
    from ..solve.method import Method
    from ..subsets import SubsetSelection
    from ..tables.reading import Table as OpenedTable
    from ..utility import Utility
    from ..views.tables import Table as ShownTable

Privacy = Annotated[
    list[str] | None,
    typer.Option(
        "--privacy",
        "-p",
        metavar="NOTION:LEVEL",
        help="Privacy notion and level in nats, such as pml:0.5, ldp:ln3, ldp:x3 (a ratio), "
        "ldp:1bit or alip:1.0,0.5 (lower, upper); also dp:1,adjacent, metricprivacy:1,absolute, "
        "approximateldp:1,1e-5 and entrypml:0.1,100,0.3 (entries, least chance); "
        "featurepml:0.5,COLUMN hides one column of several; one of your own is written "
        "package.module:Name:0.5. Repeat it: all must hold.",
    ),
]
Reports = Annotated[int, typer.Option(help="Number of reports that standard errors are shown for.")]
Require = Annotated[
    list[str] | None,
    typer.Option(
        "--require",
        metavar="TEXT",
        help="What else must hold: zero:a,b (never a as b; * for every one), zero:farther=2, "
        "at-least:a,a,0.5, at-most:a,b,0.1, diagonal:0.6 or diagonal:a=0.6, cost:hamming,0.3 "
        "or cost:FILE.csv,0.3 (with ,each for every symbol), invariant, output:a,0.1,0.3, "
        "equal-error:a+b|c,0.01, unbiased:a=0,b=1, monotone, symmetric, outputs:3, "
        "pattern:FILE.csv, rows:FILE.csv,<=,1.5, every-output:a=1,b=-2, ratio:X,Z,2, "
        "posterior:X,0.1,0.4, lift:X,0.5,2, apart:X+Z, or one of your own, "
        "package.module:Name:0.5. Repeat it.",
    ),
]
Table = Annotated[
    str | None,
    typer.Argument(
        help="File with named columns: separated text (also .gz, .zst), Parquet, Feather, Arrow or "
        ".xlsx; a folder or pattern of such files, - for standard input, or a shipped table (see "
        "'mechdesign doctor data')."
    ),
]
Outputs = Annotated[
    list[Label] | None,
    typer.Option(
        help="Output labels, separated by commas; with design -u estimation their largest number."
    ),
    read_outputs,
]
Column = Annotated[
    list[str] | None,
    typer.Option(
        help="Column of TABLE that holds the secret. Repeat it for several: symbols are then the "
        "combinations of their values that occur."
    ),
]
Weights = Annotated[
    str | None, typer.Option(help="Column of counts, for tables with one line per group.")
]
Missing = Annotated[
    str,
    typer.Option(
        help="What to do with missing values: error, drop, or category (a symbol of their own)."
    ),
]
MaxSymbols = Annotated[
    int | None,
    typer.Option(
        "--max-symbols",
        help="Most different values of the column. Without it, columns that look like measured "
        "numbers or identifiers are refused: over 100 values in few rows each, or (but for designs "
        "for estimates) over 1000.",
    ),
]
PriorText = Annotated[
    str | None,
    typer.Option(
        "--prior",
        help="Prior in place of a table: 0.5,0.3,0.2, a=0.5,b=0.3,c=0.2, JSON or a file of it, or "
        "uniform:1000 for so many alike.",
    ),
]
Of = Annotated[
    str | None,
    typer.Option(
        help="With -u estimation: what is estimated, such as young=1,old=0, the name of a "
        "column, or JSON or a file of it "
        "with such an object, a list of them, or rows of numbers; else every frequency."
    ),
]
OfWeights = Annotated[
    str | None,
    typer.Option(help="With -u estimation: what the error of each answer weighs, as 1,1,2."),
]
TruthText = Annotated[
    str | None,
    typer.Option(
        "--truth",
        help="With -u estimation: the distribution at which errors count, written as --prior or in "
        "counts, of which zeros stand for half a count; several with ; between them for the worst "
        "of them, any for the worst of all.",
    ),
]
BinsText = Annotated[
    list[str] | None,
    typer.Option(
        "--bins",
        metavar="EDGES",
        help="Bins for a column of numbers or dates: public edges such as 0,18,65,120 or "
        "2020-01-01,2021-01-01,inf; month, quarter, weekday or year,2010..2024 of dates; or "
        "quantiles:5 or k:5 (equal widths). With ,right the right edge belongs to a bin, ,whole "
        "are integers, ,0..120 the ends of bins that are chosen. Of several columns: age=0,18,65; "
        "repeat it.",
    ),
]
BinsFrom = Annotated[
    str | None,
    typer.Option(
        "--bins-from",
        metavar="TABLE",
        help="Sample of other people that quantiles:5 or k:5 are chosen from; else the secrets.",
    ),
]
KernelFile = Annotated[
    str, typer.Argument(help="A saved design, or a kernel as CSV with labels or as JSON rows.")
]
PriorTable = Annotated[
    str | None,
    typer.Option(
        "--data", metavar="TABLE", help="Table for the prior: a file of any kind, or shipped."
    ),
]
Normalise = Annotated[
    bool, typer.Option("--normalise", help="Accept rows that do not sum to one, and divide.")
]
Kernel = Annotated[str, typer.Argument(metavar="DESIGN", help="A saved design, or a kernel.")]
By = Annotated[
    str, typer.Option(help="symbols, or blocks: the groups that the reports can tell apart.")
]
Confidence = Annotated[float, typer.Option(help="Confidence of each interval.")]
Assurance = Annotated[
    float,
    typer.Option(
        help="Share of surveys in which all intervals shall be as narrow as the --error; 0.5 for "
        "reports that come out as expected."
    ),
]
Error = Annotated[
    float | None,
    typer.Option(help="Half-width that every interval should have, such as 0.01 or 1%."),
    read_error,
]
Feature = Annotated[
    str | None,
    typer.Option(
        help="What is asked in place of shares: young=1,old=0, the name of a column, or a JSON "
        "file, as --of of design; numbers ask for the mean, text for shares. Left out, what the "
        "design was made for."
    ),
]
ReceiptFile = Annotated[
    Path | None, typer.Option(help="File with the receipt, where it is not with the reports.")
]
Misfit = Annotated[
    str, typer.Option(help="Reports that this design next to never makes: error or warn.")
]
ShowValues = Annotated[
    bool,
    typer.Option("--show-values", help="Let messages quote values of the data, which are secret."),
]
Public = Annotated[
    Path | None,
    typer.Option(
        help="Save what others may have: kernel, labels, guarantee and questions, without the "
        "prior, which may be the counts of people."
    ),
]
TableFile = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", help="Save the table: .csv for a spreadsheet, .tex (booktabs) or .html."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")]
ExcelSafe = Annotated[
    bool,
    typer.Option(
        "--excel-safe",
        help="Write an apostrophe before cells of CSV that a spreadsheet would run as a formula. "
        "It changes those labels.",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace output files that exist.")]


# What is written


def expect_picture(path: Path, *, force: bool) -> None:
    """Raise before any work when a picture could not be written to a file."""
    from ..files import check_writable
    from ..plotting.style import check_picture

    check_picture(path)
    check_writable(path, overwrite=force)
    draw_nowhere()


def expect_table(path: Path | None, *, force: bool) -> None:
    """Raise before any work when a table could not be written to a file."""
    if path is not None:
        from ..views.saved import check_table

        check_table(path, overwrite=force)


def save_rows(
    title: str, rows: Sequence[Mapping[str, Any]], path: Path | None, *, force: bool
) -> None:
    """Write rows of a result where a file is named for them."""
    if path is not None:
        from ..views.tables import rows_table

        save_table(rows_table(title, rows), path, force=force)


def save_table(table: ShownTable, path: Path | None, *, force: bool) -> None:
    """Write a table where a file is named for it, and say so."""
    if path is not None:
        from ..views.saved import write_table

        write_table(table, path, overwrite=force)
        note(f"saved {path}")


def draw_nowhere() -> None:
    """Pictures go to files only, so no screen is looked for."""
    from ..plotting.style import load_pyplot

    load_pyplot().switch_backend("Agg")


def say_advice(found: Identification) -> None:
    """What can be estimated from reports, where that is some but not all frequencies."""
    if found.advice and not found.tells_nothing:
        say(f"{found.advice[0].upper()}{found.advice[1:]}.")


# What the texts of options name


def read_goal(text: str, prior: Prior) -> Utility:
    """A utility by its name, from a matrix of gains, or of one's own by its import path."""
    from ..utility import Utility

    if text.strip().lower().startswith(WORST) and not is_file(text):
        return read_worst_case(text, prior, read_goal)
    is_named = text.strip().lower().startswith(OF_COLUMNS)
    if is_import_path(text) and not is_named and not is_file(text):
        made: Utility = make(text, Utility, "utility")
        return made
    return read_utility(text, prior)


def asked_of(
    goal: Utility, prior: Prior, of: str | None, weights: str | None, truth: str | None
) -> Utility:
    """An estimation with what --of, --of-weights and --truth say; others where nothing is said."""
    from ..utility import Estimation

    if of is None and weights is None and truth is None:
        return goal
    if not isinstance(goal, Estimation):
        refuse(
            "--of, --of-weights and --truth",
            "-u estimation, which they belong to",
            f"-u {goal.spec}",
            "add -u estimation, or leave them out",
        )
    return read_estimation(prior, of, weights, truth)


def labels_or_number(goal: Utility, labels: list[Label] | None) -> Any:
    """Labels of outputs; for an estimation, whose outputs have none, how many there may be."""
    from ..utility import Estimation

    if isinstance(goal, Estimation) and labels is not None and len(labels) == 1:
        (number,) = labels
        return number if isinstance(number, int) else labels
    return labels


def read_required(
    texts: list[str] | None, prior: Prior, goals: Iterable[Utility], outputs: Any = None
) -> list[Requirement]:
    """What must hold beside privacy, with labels of the outputs that the utilities have."""
    if not texts:
        return []
    from ..utility import OutputUtility
    from .requirements import read_requirements

    labels = [g.labels_for(prior, outputs) for g in goals if isinstance(g, OutputUtility)]
    return read_requirements(texts, prior, list(dict.fromkeys(v for some in labels for v in some)))


def read_solver(text: str) -> str | Method:
    """The name of a method, or one of one's own by its import path."""
    from ..solve.method import Method

    if not is_import_path(text):
        return text
    made: Method = make(text, Method, "solver")
    return made


def _uniform(mechanism: Mechanism) -> Prior:
    """The uniform prior over the inputs of a kernel."""
    from ..prior import Prior

    return Prior.uniform(mechanism.inputs).with_schema(mechanism.schema)


def _shares(inputs: int) -> str:
    """An example of a prior over so many inputs."""
    if inputs > 6:
        return "prior.json"
    # In tenths, the first what the others leave.
    return ",".join(f"0.{tenths}" for tenths in (11 - inputs, *[1] * (inputs - 1)))


def read_notions(texts: list[str] | None) -> list[PrivacyNotion]:
    """The notions of ``--privacy``, of which there must be one."""
    if not texts:
        refuse(
            "--privacy",
            "at least one notion with a level",
            "none",
            "add for example --privacy ldp:1, which holds whatever others know beforehand; "
            "pml:1 takes fewer reports, and rests on the prior",
        )
    return [read_notion(text) for text in texts]


def read_notion(text: str) -> PrivacyNotion:
    """A notion with its levels, as in ``pml:0.5``, or of one's own by its import path.

    That is ``package.module:Name:0.5``, or ``package.module:NAME`` for an instance.
    """
    from ..privacy.notion import NOTIONS, PrivacyNotion, parse_notion

    path, rest = _split_notion(text)
    if path:
        found = find(path, PrivacyNotion, "privacy notion")
        if isinstance(found, PrivacyNotion):
            if rest:
                raise LevelError(
                    f"privacy notion {path}",
                    expected="no levels, as it names an instance, which has its own",
                    got=rest[1:],
                    remedy="leave them out, or name its class",
                )
            return found
    try:
        return parse_notion(name_notion(text))
    except UnknownNameError as problem:
        name = text.partition(":")[0].strip()
        near = get_close_matches(name.lower(), NOTIONS, n=3, cutoff=0)
        more = f"; {len(NOTIONS) - len(near)} more are known"
        raise UnknownNameError("privacy notion", name, near, more) from problem


def name_notion(text: str) -> str:
    """The text of a notion with an import path replaced by the name of the class it names."""
    from ..privacy.notion import NOTIONS, PrivacyNotion

    path, rest = _split_notion(text)
    if not path:
        return text
    found = find(path, PrivacyNotion, "privacy notion")
    name = getattr(found, "__name__", "").lower()
    if NOTIONS.get(name) is not found:
        raise LevelError(
            f"privacy notion {path}",
            expected="a class that is registered as a notion and has all its methods",
            got="an instance" if isinstance(found, PrivacyNotion) else "another class",
            remedy="name a class that is derived without register=False",
        )
    return name + rest


def name_notions(text: str) -> str:
    """:func:`name_notion` of each of several notions that are joined by ``+``."""
    return "+".join(name_notion(part) for part in re.split(r"\+(?=\s*[a-zA-Z])", text))


def _split_notion(text: str) -> tuple[str, str]:
    """The import path that a text begins with, if it does, and what follows."""
    from ..privacy.notion import NOTIONS

    parts = [part.strip() for part in text.split(":", 2)]
    path = ":".join(parts[:2])
    # Levels may be written as words too: pml:inf, and pml:e in a comparison.
    is_level = len(parts) == 2 and parts[1].lower() in ("e", "inf", "infinity", "nan")
    if is_level or parts[0].lower() in NOTIONS or not is_import_path(path):
        return "", text
    check_name_or_module(path, "privacy notion", NOTIONS)
    return path, "".join(f":{part}" for part in parts[2:])


# Options that several commands take together


def typed(context: typer.Context, names: Iterable[str]) -> list[str]:
    """The options of some parameters that stand on the command line."""
    return [
        parameter.opts[0]
        for parameter in context.command.params
        if parameter.name in names and _source(context, parameter.name) == "COMMANDLINE"
    ]


def _source(context: typer.Context, name: str) -> str:
    # Versions of typer bring a class of their own for this.
    return getattr(context.get_parameter_source(name), "name", "")


def refuse(option: str, expected: str, got: str, remedy: str) -> NoReturn:
    """Raise :class:`InputError` about an option."""
    raise InputError(option, expected=expected, got=got, remedy=remedy)


def refuse_typed(context: typer.Context, names: Iterable[str], where: str) -> None:
    """Raise for the first of some options that stands on the command line."""
    for option in typed(context, names):
        refuse(option, f"no {option} {where}", "it", "leave it out")


def _are_numbers(text: str) -> bool:
    return all(re.fullmatch(r"[-+.\deE]+", part.strip()) for part in text.split(","))


@dataclass(frozen=True, kw_only=True)
class TextForm:
    """How a text file is written, as far as it is said."""

    sep: Annotated[
        str | None,
        typer.Option(
            "--sep", metavar="SIGN", help="Sign between cells of text, such as ; or tab; found."
        ),
    ] = None
    encoding: Annotated[
        str | None,
        typer.Option(help="Encoding of text, such as latin-1; else UTF-8, or UTF-16 if marked."),
    ] = None

    @property
    def dialect(self) -> Dialect:
        """The same as what opens tables takes it."""
        return Dialect(self.sep, self.encoding)

    def opened(self, path: Any) -> OpenedTable:
        """A table that is written so."""
        from ..tables.reading import open_table

        return open_table(path, self.dialect)

    def reports(self, path: str) -> ReportFile:
        """A file of reports that is written so, with a bar for those who wait."""
        from ..release.reports import ReportFile

        return ReportFile(path, self.dialect, sys.stderr.isatty())


@dataclass(frozen=True, kw_only=True)
class PriorSource(TextForm):
    """Where a prior comes from: a column of a table, or a text."""

    table: Table = None
    column: Column = None
    weights: Weights = None
    missing: Missing = "error"
    max_symbols: MaxSymbols = None
    prior: PriorText = None
    bins: BinsText = None
    bins_from: BinsFrom = None

    def read_prior(self, most: int | None = None) -> Prior:
        """The prior; :class:`InputError` where neither or both are given.

        ``most`` different values are let through where nothing is said of them.
        """
        if self.weights is not None and "," in self.weights and _are_numbers(self.weights):
            refuse(
                "--weights",
                "the column of TABLE that says for how many people a row stands",
                quote(self.weights),
                "write --of-weights for what the errors of answers weigh",
            )
        if self.bins_from is not None and not self.bins:
            refuse(
                "--bins-from",
                "--bins quantiles:5 or k:5 with it",
                "it alone",
                "say how bins are chosen",
            )
        from ..bin_arguments import read_column_bins
        from ..prior import Prior

        with waiting("counting", show=sys.stderr.isatty()):
            read = (self.table, self.column, self.bins or [], self.bins_from, self.weights)
            bins = read_column_bins(*read, self.dialect) if self.bins else None
            if (self.table is None) == (self.prior is None):
                refuse(
                    "prior",
                    "either a table or --prior",
                    "neither" if self.table is None else "both",
                    "give TABLE with --column, or --prior 0.5,0.3,0.2",
                )
            if self.prior is not None:
                return read_prior(self.prior)
            if not self.column:
                first = self.opened(self.table).names[0]
                refuse(
                    f"table {self.table}",
                    "--column with the column of the secret",
                    "none",
                    f"add for example --column {first}",
                )
            return Prior.from_data(
                self.table,
                self.column,
                weights=self.weights,
                missing=self.missing,
                max_symbols=most if self.max_symbols is None else self.max_symbols,
                bins=bins,
                sep=self.sep,
                encoding=self.encoding,
            )

    def hint_at_bins(self, known: Prior) -> None:
        """Tell of columns of many different numbers, unless their number was asked for."""
        from ..bin_arguments import hints_at_bins

        if self.table is not None and self.column and self.max_symbols is None:
            for hint in hints_at_bins(known, self.column):
                note(hint)


@dataclass(frozen=True, kw_only=True)
class PriorOption(PriorSource):
    """The same for commands about something else, where the table is an option, too."""

    table: PriorTable = None


def check_distinct(
    written: Mapping[str, str | Path | None], read: Mapping[str, str | Path | None]
) -> None:
    """Raise :class:`InputError` where a file that is written is read too, or written twice.

    Both map what messages call a file, such as ``--matrix``, to its name, or to ``None``. A text
    that is read and names no file is none.
    """
    known = {
        os.path.realpath(path): name
        for name, path in read.items()
        if path is not None and is_file(str(path))
    }
    for name, path in written.items():
        if path is None:
            continue
        other = known.setdefault(os.path.realpath(path), name)
        if other != name:
            refuse(name, f"another file than that of {other}", str(path), "choose another name")


@dataclass(frozen=True)
class Asked:
    """A kernel, or the design it comes from, with prior and notions: those given, else its own."""

    designed: Design | Mechanism
    mechanism: Mechanism
    prior: Prior
    notions: tuple[PrivacyNotion, ...]

    def read_required(
        self, texts: list[str] | None, outputs: Sequence[Any] | None = None
    ) -> tuple[Requirement, ...]:
        """Requirements that texts name for the kernel, else those of the design it comes from.

        ``outputs`` are labels that take the place of the kernel's own.
        """
        from ..solve._design import Design
        from .requirements import read_requirements

        if texts:
            labels = tuple(outputs or self.mechanism.outputs)
            return tuple(read_requirements(texts, self.prior, labels))
        return self.designed.requirements if isinstance(self.designed, Design) else ()


@dataclass(frozen=True, kw_only=True)
class KernelSource(PriorOption):
    """A saved design or a kernel of any tool, with the prior and notions it is judged by."""

    kernel: KernelFile
    privacy: Privacy = None
    normalise: Normalise = False

    @functools.cached_property
    def notions(self) -> tuple[PrivacyNotion, ...]:
        """The notions that are named beside the file."""
        return tuple(read_notion(spec) for spec in self.privacy or [])

    @functools.cached_property
    def saved(self) -> Any:
        """What the file holds, read once; what it names may be defined where a notion is."""
        from ..kernel_files import load_kernel

        _ = self.notions  # reading them imports their modules
        return load_kernel(self.kernel, normalise=self.normalise)

    def read_subset_selection(self) -> SubsetSelection | None:
        """The subset selection of the file, ``None`` for kernels with a matrix."""
        from ..subsets import SubsetSelection

        return self.saved if isinstance(self.saved, SubsetSelection) else None

    def _any_prior(self, mechanism: Mechanism, what: str) -> Prior:
        """The uniform prior, where no notion that is asked depends on one."""
        note(
            f"{what} is checked without one, and levels that depend on a prior are those under "
            "the uniform one"
        )
        return _uniform(mechanism)

    def read_kernel(self, *, any_prior: bool = False) -> Asked:
        """Read the file and match the prior with its inputs; :class:`InputError` without a prior.

        With ``any_prior`` none is needed where notions are asked, or kept by a public design, that
        do not depend on one.
        """
        from ..mechanism import mechanism_of
        from ..published import PublicDesign
        from ..solve._design import Design

        notions, given = self.notions, None
        mechanism = mechanism_of(self.saved)
        if self.prior == "uniform":
            given = _uniform(mechanism)
        elif any(option is not None for option in (self.table, self.column, self.prior)):
            given = self.read_prior()
        designed = self.saved if isinstance(self.saved, Design) else mechanism
        if isinstance(designed, Design):
            given = given or designed.prior
            notions = notions or designed.notions
        if isinstance(designed, PublicDesign):
            notions = notions or designed.notions
            needing = [str(notion) for notion in notions if notion.uses_prior]
            needing += designed.stated if not self.privacy else ()
            if given is None and any_prior and not needing:
                given = self._any_prior(mechanism, "a public design holds no prior: what it keeps")
            elif given is None:
                refuse(
                    "prior",
                    f"the prior that {needing[0]} is about"
                    if needing
                    else "a prior to judge beliefs by",
                    "a public design, which holds none",
                    "add --prior or --data, or ask whoever made it"
                    + (", or audit what needs none (--privacy ldp:1)" if any_prior else ""),
                )
        elif given is None and any_prior and notions and not any(n.uses_prior for n in notions):
            told = " and ".join(map(str, notions))
            given = self._any_prior(mechanism, f"no prior was given: {told}")
        if given is None:
            free = ", or ask for what needs none (--privacy ldp:1)" if any_prior else ""
            refuse(
                "prior",
                "a prior for the kernel's inputs",
                "none",
                f"add --prior {_shares(len(mechanism.inputs))} or --data TABLE --column "
                f"COLUMN{free}",
            )
        # Masses without names are those of the inputs in their order.
        bare = (
            self.prior is not None
            and "=" not in self.prior
            and given.labels == tuple(range(len(given)))
        )
        given = align_prior(given, mechanism.inputs, named=not bare)
        return Asked(designed, mechanism, given, notions)
