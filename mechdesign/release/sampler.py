"""``Sampler``: exact draws from a certified kernel."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import DataError, KernelError, is_iterable, quote
from ..labels import Label
from ..mechanism import Mechanism
from .alias import AliasTable
from .encoding import ABSENT, Codebook
from .entropy import Words, words_from


def mechanism_of(item: Any) -> Mechanism:
    """The mechanism of a design, or a mechanism as it is."""
    found = getattr(item, "mechanism", item)
    if not isinstance(found, Mechanism):
        raise KernelError(
            "mechanism",
            expected="a Mechanism or a Design",
            got=type(item).__name__,
            remedy="pass the result of design() or load()",
        )
    return found


class Sampler:
    """Draws reports with exactly the probabilities of a kernel.

    The kernel's integer weights and random words decide; there is no floating-point number between
    entropy and outcome. Without ``rng`` the words come from the operating system.

    Parameters
    ----------
    mechanism : Mechanism or Design
    rng : int or numpy.random.Generator, optional
        For repeatable research only: whoever knows the seed can undo the reports. What is written
        with a seed says so.

    Raises
    ------
    KernelError
        For something that is no mechanism.
    InputError
        For an ``rng`` that is no seed and no generator.

    Examples
    --------
    >>> import mechdesign as md
    >>> flip = md.Mechanism([[.75, .25], [.25, .75]], ["no", "yes"], ["no", "yes"])
    >>> md.Sampler(flip, rng=1).draw(["no", "yes", "yes", "no"])
    ['yes', 'yes', 'no', 'no']
    >>> md.Sampler(flip).for_production
    True
    """

    def __init__(self, mechanism: Any, rng: Any = None) -> None:
        self.mechanism = mechanism_of(mechanism)
        self.words: Words = words_from(rng)
        self.table = AliasTable(self.mechanism)
        self._book = Codebook(self.mechanism.inputs, "inputs of the mechanism")

    @property
    def for_production(self) -> bool:
        """Whether the words come from the operating system; false with a seed."""
        return self.words.for_production

    def draw(self, symbols: Iterable[Any]) -> list[Label]:
        """One output label for each input label.

        Raises :class:`DataError` for symbols that are no inputs of the mechanism.
        """
        if isinstance(symbols, (str, bytes)) or not is_iterable(symbols):
            raise DataError(
                "symbols",
                expected="a sequence of inputs of the mechanism",
                got=f"a single {type(symbols).__name__}",
                remedy="pass a list, even for one person",
            )
        values = list(symbols)
        codes = self._book.places(values)
        if (codes == ABSENT).any():
            strangers = list(
                dict.fromkeys(
                    v if _hashable(v) else quote(v)
                    for v, code in zip(values, codes, strict=True)
                    if code == ABSENT
                )
            )
            raise self._book.refuse("symbols", strangers, "correct them, or design for them")
        outputs = self.mechanism.outputs
        return [outputs[i] for i in self.table.draw(codes, self.words)]

    def draw_codes(self, codes: ArrayLike) -> NDArray[Any]:
        """One output position for each input position ``0 … N-1``, as an array of integers.

        This is the fast path. Raises :class:`DataError` for positions that do not exist.

        >>> import mechdesign as md
        >>> md.Sampler(md.Mechanism([[0, 1], [1, 0]])).draw_codes([0, 0, 1])
        array([1, 1, 0], dtype=uint8)
        """
        found = np.asarray(codes)
        if found.ndim != 1 or not (np.issubdtype(found.dtype, np.integer) or found.size == 0):
            raise DataError(
                "codes",
                expected="a vector of integers",
                got=f"shape {found.shape}, dtype {found.dtype}",
                remedy="pass positions of inputs, or labels to draw()",
            )
        size = self.mechanism.shape[0]
        if found.size and not (found.min() >= 0 and found.max() < size):
            raise DataError(
                "codes",
                expected=f"integers from 0 to {size - 1}",
                got=f"{found.min()} to {found.max()}",
                remedy="pass positions of inputs, or labels to draw()",
            )
        return self.table.draw(found, self.words)

    def __repr__(self) -> str:
        n, m = self.mechanism.shape
        return f"Sampler({n} inputs × {m} outputs, words from {self.words.source})"


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True
