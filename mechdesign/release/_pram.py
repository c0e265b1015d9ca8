"""``pram``: the best matrix for the post-randomisation of a variable, for each stratum its own."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._public_form import given_back
from ..errors import (
    CountsWarning,
    DataError,
    InfeasibleError,
    InputError,
    NoGuaranteeWarning,
    PriorError,
    RequirementError,
    UntoldWarning,
    UtilityError,
    ZeroMassWarning,
    quote,
    warn,
)
from ..exact import Verdict
from ..files import write_text
from ..kernel_files import kernel_rows
from ..labels import Label, counted, excel_safe_cell
from ..mechanism import Mechanism, best_guesses
from ..prior import Prior, as_prior
from ..privacy.notion import Check, PrivacyNotion, as_notions
from ..published import PublicDesign, told_in_public
from ..requirement.base import Requirement, as_requirements
from ..solve._design import Design, find_design
from ..tables.counting import count_labels
from ..tables.reading import open_table
from ..tables.text import AS_FOUND, Dialect
from ..tables.writing import csv_text
from ..utility import Hamming, LinearUtility, Utility
from ._identifiability import identifiability
from .codes import ABSENT, Policy
from .codings import Names
from .customary import Customary, customary_matrices
from .risk import (
    CategoryRisk,
    RecordRisk,
    category_risks,
    share_unchanged,
)


@dataclass(frozen=True, eq=False)
class Stratum:
    """The records of one stratum, and the kernel that randomises them.

    Attributes
    ----------
    name : the stratum; ``None`` where there are no strata
    prior : what an intruder knows of its records, by which the risks are measured
    counts : number of records of each category, in the order of the prior's labels
    design : the kernel with its proof; for a pooled one its prior is that of all strata
    """

    name: Label | None
    prior: Prior
    counts: tuple[float, ...]
    design: Design

    @property
    def mechanism(self) -> Mechanism:
        """The kernel."""
        return self.design.mechanism

    @property
    def records(self) -> float:
        """How many records there are."""
        return math.fsum(self.counts)

    @property
    def unchanged(self) -> float:
        """Expected share of records whose value is published as it is."""
        return share_unchanged(self.mechanism, self.prior)

    @property
    def correct_before(self) -> float:
        """Expected number of records that are guessed right from the prior alone."""
        return self.records * float(self.prior.probabilities.max())

    @property
    def correct_after(self) -> float:
        """Expected number of records that are guessed right from what is published."""
        return self.records * best_guesses(self.mechanism, self.prior)[1]

    @property
    def largest(self) -> float:
        """The largest posterior probability of a true value that a record can get."""
        return max(row.largest for row in self.risks if row.records)

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        """The exact verdict on each notion under this stratum's prior."""
        return tuple(n.check(self.mechanism, self.prior) for n in self.design.notions)

    @cached_property
    def risks(self) -> tuple[CategoryRisk, ...]:
        """Risk of the records of each category."""
        return category_risks(self.mechanism, self.prior, self.counts)

    @cached_property
    def customary(self) -> tuple[Customary, ...]:
        """The customary matrices at the same level, under the prior that the kernel is made for."""
        found = self.design
        return customary_matrices(found.prior, found.utility, found.notions, found.requirements)


@dataclass(frozen=True, eq=False)
class Pram:
    """What :func:`pram` finds: kernels, risks, and the customary matrices beside them.

    Attributes
    ----------
    column : the variable
    by : the column of strata, or ``None``
    strata : one entry for each stratum; one only where there are none
    pooled : whether one kernel serves all strata
    """

    column: str
    by: str | None
    strata: tuple[Stratum, ...]
    pooled: bool = False

    @property
    def kernels(self) -> tuple[Stratum, ...]:
        """The strata that have a kernel of their own."""
        return self.strata[:1] if self.pooled else self.strata

    @property
    def notions(self) -> tuple[PrivacyNotion, ...]:
        """The notions that were asked."""
        return self.strata[0].design.notions

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        """What else was asked."""
        return self.strata[0].design.requirements

    @property
    def records(self) -> float:
        """How many records there are."""
        return math.fsum(part.records for part in self.strata)

    @property
    def unchanged(self) -> float:
        """Expected share of all records whose value is published as it is."""
        return math.fsum(part.records * part.unchanged for part in self.strata) / self.records

    @property
    def correct_before(self) -> float:
        """Expected number of records that are guessed right from the priors alone."""
        return math.fsum(part.correct_before for part in self.strata)

    @property
    def correct_after(self) -> float:
        """Expected number of records that are guessed right from what is published."""
        return math.fsum(part.correct_after for part in self.strata)

    @property
    def largest(self) -> float:
        """The largest posterior probability of a true value that a record can get."""
        return max(part.largest for part in self.strata)

    @property
    def strata_column(self) -> str | None:
        """The column that a release has to read beside the variable, or ``None``."""
        return None if self.pooled else self.by

    @cached_property
    def released(self) -> PublicDesign:
        """The kernel with its guarantee, for ``privatize`` and ``privatize_file``.

        Where each stratum has a kernel of its own, the inputs are the pairs (stratum, category):
        pass ``strata=`` the column of strata.
        """
        if self.strata_column is None:
            return PublicDesign.of(self.strata[0].mechanism, self.notions)
        parts = [(part.name, part.mechanism) for part in self.strata]
        one = math.lcm(*(made.denominator for _, made in parts))
        rows = np.concatenate([made.weights * (one // made.denominator) for _, made in parts])
        inputs = [(name, x) for name, made in parts for x in made.inputs]
        whole, named = told_in_public(self.notions)
        where = f" within each stratum of {quote(self.by)}"
        stacked = Mechanism.over(rows, one, inputs, parts[0][1].outputs)
        return PublicDesign.of(stacked, (), [f"{text}{where}" for text in (*whole, *named)])

    def matrix_csv(self, *, excel_safe: bool = False) -> str:
        """The matrix as sdcMicro reads it: row and column names are the categories.

        In R: ``as.matrix(read.csv(file, row.names = 1, check.names = FALSE))``, for ``pd=`` of its
        ``pram``. Entries read back as the same floats, and rows sum to one exactly. Where strata
        have kernels of their own, a first column ``stratum`` names them; take the rows of one.
        """
        each = [kernel_rows(part.mechanism, excel_safe=excel_safe) for part in self.strata]
        if self.strata_column is None:
            return csv_text(each[0])
        cell = excel_safe_cell if excel_safe else str
        rows = [["stratum", *each[0][0]]]
        for part, own in zip(self.strata, each, strict=True):
            rows += [[cell(part.name), *row] for row in own[1:]]
        return csv_text(rows)

    def save_matrix(
        self, path: str | Path, *, overwrite: bool = False, excel_safe: bool = False
    ) -> None:
        """Write :meth:`matrix_csv` to a file; raises :class:`StorageError` where it cannot."""
        write_text(self.matrix_csv(excel_safe=excel_safe), path, overwrite=overwrite)

    def record_risk(
        self,
        table: Any,
        published: Any,
        *,
        sep: str | None = None,
        encoding: str | None = None,
    ) -> RecordRisk:
        """Risk of each record, given the value that was published for it.

        Parameters
        ----------
        table, published : the records with their true values, and the same with published ones:
            data frames, or paths of files, with the same rows in the same order; those with
            missing values are left out
        sep, encoding : of the table with true values, as for :meth:`Prior.from_csv`

        Raises
        ------
        DataError, UnknownNameError
            For columns that are not there, values that are no categories and rows that do not
            match.
        """
        labels = self.strata[0].prior.labels
        dialect = Dialect(sep, encoding)
        secrets = _places(table, self.column, labels, dialect)
        reports = _places(published, self.column, labels)
        if len(secrets) != len(reports):
            raise DataError(
                "published table",
                expected=f"{counted(len(secrets), 'row')}, those of the table",
                got=str(len(reports)),
                remedy="pass both with the same rows in the same order",
            )
        groups = np.zeros(len(secrets), dtype=np.int64)
        if self.by is not None:
            groups = _places(table, self.by, tuple(part.name for part in self.strata), dialect)
        rows = np.flatnonzero(np.all([p != ABSENT for p in (secrets, reports, groups)], axis=0))
        x, y, s = secrets[rows], reports[rows], groups[rows]
        kernels = np.stack([part.mechanism.kernel for part in self.strata])
        after = np.stack([part.mechanism.posterior(part.prior) for part in self.strata])
        before = np.stack([part.prior.probabilities for part in self.strata])
        if never := int((kernels[s, x, y] == 0).sum()):
            raise DataError(
                "published table",
                expected="values that the matrix makes of the true ones",
                got=f"others in {counted(never, 'record')}",
                remedy="pass both with the same rows in the same order",
            )
        return RecordRisk(rows, before[s, x], after[s, x, y], after.argmax(axis=1)[s, y] == x)

    def __repr__(self) -> str:
        asked = ", ".join(map(str, (*self.notions, *self.requirements)))
        within = "" if self.by is None else f" in {len(self.strata)} strata of {quote(self.by)}"
        how = " (one kernel for all)" if self.pooled else ""
        lines = [f"PRAM of {quote(self.column)}{within}{how}: {asked}"]
        for part in self.strata:
            name = "" if part.name is None else f"{part.name}: "
            failed = [str(c.notion) for c in part.checks if c.verdict is not Verdict.YES]
            lines.append(
                f"  {name}{part.records:g} records, {part.unchanged:.2%} unchanged, guessed right "
                f"{part.correct_before:.1f} before and {part.correct_after:.1f} after, largest "
                f"posterior {part.largest:.4f}, {part.design.status}"
                + (f"; {', '.join(failed)} does NOT hold in this stratum" if failed else "")
            )
        return "\n".join(lines)


def pram(
    table: Any,
    column: str,
    privacy: Any,
    *,
    strata: str | None = None,
    pooled: bool = False,
    subject_to: Any = (),
    utility: Utility | None = None,
    prior: Any = None,
    weights: str | None = None,
    missing: str = "error",
    max_symbols: int | None = None,
    solver: Any = "auto",
    sep: str | None = None,
    encoding: str | None = None,
) -> Pram:
    """The best matrix to randomise a categorical variable with before it is published.

    Post-randomisation ([Kooiman1997], [Gouweleeuw1998]) publishes each value y in place of the true
    one x with probability K_xy. Here K is the best of all kernels from the categories to themselves
    that keep the notions and everything else that is asked, with proof, as :func:`design` finds it.

    Parameters
    ----------
    table : data frame, path of a file as :meth:`Prior.from_csv` takes, or name of a shipped table
        One row for each record.
    column : the variable
    privacy : notion or list of notions, levels in nats
    strata : a public column; each of its values gets a kernel for its own frequencies
    pooled : with ``strata``, one kernel for all, made for the frequencies of all records; the risks
        are those of the strata all the same
    subject_to : requirements, such as ``md.require.invariant()``, ``md.require.zero("a", "b")``,
        ``md.require.diagonal(at_least=.6)``
    utility : what is maximised; most records unchanged (``md.utility.Hamming()``) when left out
    prior : what is known of the records in place of the frequencies in the table: a
        :class:`Prior`, or with ``strata`` (unless pooled) a mapping from stratum to prior. Shares
        and numbers of records, such as those unchanged, are expectations under it.
    weights : name of a column of counts, for tables with one row per group
    missing : {"error", "keep", "drop", "category"}
        Records without a value: refuse, count none of them (``"keep"`` and ``"drop"`` are the
        same: they stay missing with ``missing="keep"`` of :func:`privatize`), or a category of
        their own
    max_symbols, sep, encoding : as for :meth:`Prior.from_csv`
    solver : as for :func:`design`

    Returns
    -------
    Pram
        Kernels, risks of the records, the customary matrices at the same level, and what
        ``privatize`` and ``privatize_file`` take.

    Raises
    ------
    DataError, UnknownNameError, PriorError, LevelError, RequirementError, UtilityError
        For what cannot be used.
    InfeasibleError
        When no kernel satisfies all of it, with the stratum.

    Warns
    -----
    CountsWarning
        When a kernel is fitted to frequencies that were counted in the table.
    NoGuaranteeWarning
        When a pooled kernel does not keep the notions in every stratum.
    UntoldWarning
        When a kernel publishes the same, whatever the true value is.

    Examples
    --------
    >>> import mechdesign as md
    >>> fair = md.Prior([.5, .3, .2], ["a", "b", "c"])
    >>> found = md.pram({"x": list("aaaaabbbcc")}, "x", md.PML(1), prior=fair,
    ...     subject_to=md.require.invariant())
    >>> round(found.unchanged, 6)
    0.817463
    """
    dialect = Dialect(sep, encoding)
    counts = _counts(table, column, strata, weights, missing, max_symbols, dialect)
    notions, requirements = as_notions(privacy), as_requirements(subject_to)
    goal = Hamming() if utility is None else utility
    labels = tuple(next(iter(counts.values())))
    if len(labels) < 2:
        raise DataError(
            f"column {quote(column)}",
            expected="at least two categories",
            got=str(len(labels)),
            remedy="choose another column; one that is constant needs no randomisation",
        )
    if pooled and strata is None:
        raise InputError(
            "pooled", expected="strata= with it", got="none", remedy="leave it out, or add strata="
        )
    own = strata is not None and not pooled
    priors = {
        name: _prior(prior if not own else _of_stratum(prior, name, counts), rows, labels)
        for name, rows in counts.items()
    }
    if pooled:
        total = {x: sum(rows[x] for rows in counts.values()) for x in labels}
        known = _prior(prior, total, labels)
        shared = _designed(known, goal, notions, requirements, solver, None)
        designs = dict.fromkeys(counts, shared)
    else:
        designs = {
            name: _designed(known, goal, notions, requirements, solver, name if own else None)
            for name, known in priors.items()
        }
    found = Pram(
        column,
        strata,
        tuple(
            Stratum(name, priors[name], tuple(map(float, rows.values())), designs[name])
            for name, rows in counts.items()
        ),
        pooled,
    )
    if prior is None:
        _warn_of_counts(found)
    if pooled:
        _warn_of_strata(found)
    for part in found.kernels:
        identified = identifiability(part.mechanism)
        if identified.rank == 1:
            where = f"stratum {quote(part.name)}: " if own else ""
            warn(f"{where}{identified.advice}", UntoldWarning)
    return found


def _designed(
    prior: Prior,
    utility: Utility,
    notions: tuple[PrivacyNotion, ...],
    requirements: tuple[Requirement, ...],
    solver: Any,
    stratum: Label | None,
) -> Design:
    if (
        not isinstance(utility, LinearUtility)
        or tuple(utility.labels_for(prior, None)) != prior.labels
    ):
        raise UtilityError(
            "utility of a post-randomisation",
            expected="a linear one whose outputs are the categories, as md.utility.Hamming() is",
            got=quote(utility),
            remedy="leave it out, or pass a matrix with the categories as outputs",
        )
    try:
        return find_design(prior, utility, notions, solver=solver, subject_to=requirements)
    except InfeasibleError as problem:
        if stratum is None:
            raise
        message = f"stratum {quote(stratum)}: {problem}"
        raise InfeasibleError(message, problem.clash, problem.proof, problem.levels) from None
    except RequirementError as problem:
        if stratum is None:
            raise
        raise RequirementError(
            f"stratum {quote(stratum)}: {problem.subject}",
            expected=problem.expected,
            got=problem.got,
            remedy=problem.remedy,
        ) from None


def _of_stratum(prior: Any, name: Label | None, counts: Mapping[Any, Any]) -> Any:
    if prior is None:
        return None
    if not isinstance(prior, Mapping) or set(prior) != set(counts):
        raise InputError(
            "prior",
            expected=f"a dict with a Prior for each stratum {quote(list(counts))}",
            got=quote(list(prior)) if isinstance(prior, Mapping) else quote(prior),
            remedy="leave it out for the frequencies in the table, or give all strata one kernel "
            "(pooled=True, --pooled)",
        )
    return prior[name]


def _prior(given: Any, counts: Mapping[Label, Any], labels: tuple[Label, ...]) -> Prior:
    """The prior given, in the order of the labels, or that of the counts.

    Raises :class:`PriorError` for one that does not hold the categories, or gives one that has
    records no mass: whatever is said of those records would be wrong.
    """
    if given is None:
        with warnings.catch_warnings():
            # A category that a stratum lacks has no records there, which the risks say.
            warnings.simplefilter("ignore", ZeroMassWarning)
            return Prior.from_counts(counts)
    as_prior(given)
    if set(given.labels) != set(labels):
        raise PriorError(
            "prior",
            expected=f"the categories {quote(list(labels))}",
            got=quote(list(given.labels)),
            remedy="give each category of the column a mass, by its label (a=0.5,b=0.5)",
        )
    known = given.reordered(labels)
    for label, mass in zip(labels, known.weights, strict=True):
        if counts[label] and not mass:
            raise PriorError(
                "prior",
                expected="a mass above zero for every category that has records",
                got=f"none for {quote(label)}, which has {float(counts[label]):g}",
                remedy="give it a small mass: the kernel would not be made for those records",
            )
    return known


def _warn_of_strata(found: Pram) -> None:
    """Warn of a kernel for all strata that leaks more about the records of one of them."""
    over = [p for p in found.strata if any(c.verdict is not Verdict.YES for c in p.checks)]
    if over:
        warn(
            f"one kernel for all: {', '.join(map(str, found.notions))} does not hold in "
            f"{len(over)} of {len(found.strata)} strata of {quote(found.by)}, whose own "
            "frequencies an intruder may know; leave pooled out for a kernel of each",
            NoGuaranteeWarning,
        )


def _warn_of_counts(found: Pram) -> None:
    """Warn of kernels from whose entries the frequencies in the table can be computed."""
    if told := given_back(part.design for part in found.strata):
        warn(
            f"the frequencies of {quote(found.column)} were counted in the table, and the matrix "
            f"tells: {told}; before others get it, let the frequencies be public, or pass rounded "
            "ones (prior=, --prior)",
            CountsWarning,
        )


# Reading tables


def categories(
    table: Any,
    column: str,
    *,
    missing: str = "error",
    max_symbols: int | None = None,
    sep: str | None = None,
    encoding: str | None = None,
) -> tuple[Label, ...]:
    """The categories of a column, as :func:`pram` takes them, in their order."""
    dialect = Dialect(sep, encoding)
    return tuple(_counts(table, column, None, None, missing, max_symbols, dialect)[None])


def _counts(
    table: Any,
    column: str,
    strata: str | None,
    weights: str | None,
    missing: str,
    most: int | None,
    dialect: Dialect,
) -> dict[Label | None, dict[Label, Any]]:
    """How many records each category has, in each stratum."""
    if strata is not None and strata == column:
        raise InputError(
            "strata",
            expected="another column than the variable",
            got=quote(strata),
            remedy="name a public column, or leave it out",
        )
    found = count_labels(
        table,
        [column],
        by=strata,
        weights=weights,
        missing="drop" if missing == "keep" else missing,
        max_symbols=most,
        dialect=dialect,
    )
    return {None: found} if strata is None else found


def _places(
    table: Any, name: str, labels: tuple[Any, ...], dialect: Dialect = AS_FOUND
) -> NDArray[np.int64]:
    """Positions of the values of a column among the labels."""
    opened = open_table(table, dialect)
    opened.check([name])
    coding = Names([name], labels, Policy(missing="keep"), texts=opened.is_text)
    parts = [np.empty(0, dtype=np.int64)]
    for (values,) in opened.parts([name]):
        parts.append(
            coding.codes({name: values}.__getitem__, sum(map(len, parts))).astype(np.int64)
        )
    return np.concatenate(parts)
