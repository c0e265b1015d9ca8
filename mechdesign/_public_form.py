"""``public_form``: the one function that what is saved, shown, exported or served as public passes.

It builds the public form of each kind of thing from what may be told. What it does not know has
none, and is refused: nothing is public because nobody thought of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias, cast

from ._determined_prior import determined_prior
from .errors import CountsWarning, StorageError, warn
from .mechanism import Mechanism
from .published import PublicDesign, told_in_public
from .solve._design import Design
from .solve.columns_plan import ColumnsPlan, PublicPlan
from .subsets import PublicSelection, SubsetSelection

#: What holds no prior.
Public: TypeAlias = "Mechanism | SubsetSelection | PublicPlan"


def public_form(item: object) -> Public:
    """What others may have of a design, a plan or a kernel: how reports are drawn and what they
    keep, without the prior.

    - A kernel is public as it is, and so is what is a public form already.
    - Of a design kernel, labels, guarantee and question: :class:`PublicDesign`.
    - Of a plan those of each column, and the total level: :class:`PublicPlan`.
    - A subset selection of equal masses knows no other prior. Of one of groups labels, groups,
      types of reports and guarantee: :class:`PublicSelection`.

    Raises :class:`StorageError` for anything else. Warns (:class:`CountsWarning`) where the prior
    follows from the kernel, and says how many digits of it. Of a bare kernel (the mechanism of a
    design, say) nothing is warned of, as it does not know what prior it was made for: pass the
    design. Parameters of notions that are about no prior are told as they are, also where they were
    computed from one, such as levels by symbol or a matrix of distances: nothing shows where
    numbers come from.
    """
    made = quiet_form(item)
    if isinstance(item, Design):
        _warn([item])
    elif isinstance(item, ColumnsPlan):
        _warn(item.designs)
    elif isinstance(item, SubsetSelection) and item.prices is not None:
        _warn_of_groups(item)
    return made


def quiet_form(item: object) -> Public:
    """The same for who keeps it to himself: nothing is warned of."""
    if isinstance(item, Design):
        return _of_design(item)
    if isinstance(item, ColumnsPlan):
        return PublicPlan.of(item.names, list(map(_of_design, item.designs)), item.total)
    if isinstance(item, SubsetSelection) and item.prices is not None:
        return PublicSelection.of(item)
    if is_public(item):
        return cast("Public", item)
    raise StorageError(
        f"public form: expected a kernel, a design, a plan or a subset selection, got "
        f"{type(item).__name__}, of which nothing can be told; keep it to yourself."
    )


def _of_design(design: Design) -> PublicDesign:
    return PublicDesign.of(design.mechanism, design.notions, question=design.question)


def is_public(item: object) -> bool:
    """Whether something is its own public form."""
    if isinstance(item, SubsetSelection) and not isinstance(item, PublicSelection):
        is_told = type(item) is SubsetSelection and item.prices is None
        return is_told and not told_in_public(item.notions)[1]
    return isinstance(item, (Mechanism, PublicPlan, PublicSelection))


def given_back(designs: Iterable[Design]) -> str:
    """What their kernels give back of the priors, in words; nothing where none is known to.

    Of a prior with noise everything may be known, see :meth:`Prior.with_noise`.
    """
    said = []
    for design in designs:
        if design.prior.noise is not None:
            continue
        about = [notion for notion in design.notions if notion.uses_prior]
        _, untold = told_in_public(design.notions)
        found = determined_prior(design)
        if found.equations:
            said.append(str(found))
        elif untold or (about and len(set(design.prior.weights)) > 1):
            said.append(
                f"{about[0]} is about a prior, and masses can often be computed from the entries "
                "of a kernel that was fitted to it"
            )
    return "; ".join(dict.fromkeys(said))


#: What to do about it.
REMEDY = (
    "if that is more than others may know, design for a prior with noise or a rounded one "
    "(prior.with_noise(1), prior.rounded(2); --prior-noise 1, --round-prior 2)"
)


def _warn(designs: Iterable[Design]) -> None:
    if found := given_back(designs):
        warn(
            f"the public form holds no prior, but its kernel tells: {found}; {REMEDY}",
            CountsWarning,
        )


def _warn_of_groups(selection: SubsetSelection) -> None:
    if selection.prior is None or selection.prior.noise is not None:
        return
    found = determined_prior(selection)
    warn(
        "the public form holds no prior, but it tells which symbols have equal or near masses, "
        "which groups are likelier, and chances that were fitted to the masses"
        + (f", and its kernel tells: {found}" if found.equations else "")
        + f"; {REMEDY}",
        CountsWarning,
    )
