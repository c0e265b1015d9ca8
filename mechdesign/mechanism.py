"""Mechanism: a row-stochastic kernel P(Y|X) with labelled inputs and outputs."""

from __future__ import annotations

import html
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from copy import copy
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .checks import Flag, Number, Whole, checked
from .errors import DisclosureWarning, KernelError, listed, quote, warn
from .exact import common_integers, dyadic, fraction, nearest_float
from .labels import Label, check_labels, counted, near_miss, short_names, told_shape
from .numeric import finite_matrix
from .prior import Prior
from .schema import Schema

# Row sums may be off from one by this much.
_ROW_TOLERANCE = 1e-6
# Entries down to minus this are taken as zero: solvers leave such dust behind.
_NEGATIVE_TOLERANCE = 1e-9
# A secret that one report lets guess right with this probability is not hidden.
_DISCLOSED = Fraction(999, 1000)
# One that is guessed right so many times as often, or wrong so many times less often, hardly is.
_RISE, _FALL = 10, 3
# Columns of a kernel that are looked at together, so that no second one fills the memory.
_COLUMNS = 256
#: Bits of a denominator.
MOST_BITS = 1 << 20
_SECOND = "pass the probability of the second mechanism"


class Mechanism:
    """A row-stochastic kernel: ``kernel[x, y] = P(Y = y | X = x)``.

    Parameters
    ----------
    kernel : (N, M) array of non-negative numbers
        Rows are inputs. Row sums may be off by rounding (at most 1e-6): each row is divided by its
        sum, and :attr:`row_error` says how far off it was, because an exact audit cannot be
        more certain than the numbers it was given. Entries between -1e-9 and 0, which solvers
        leave behind, are taken as 0. ``Fraction`` and ``Decimal`` are kept as they are. A data
        frame brings its index and column names as labels.
    inputs, outputs : sequences of distinct labels, optional
        ``0 … N-1`` and ``0 … M-1`` when left out.
    normalise : bool
        Accept rows with any positive sum, for numbers printed with few digits.

    Raises
    ------
    KernelError
        For entries that are negative or not finite, rows off by more than 1e-6, or labels that are
        not distinct. Methods that take a prior raise it when the prior is over other symbols.

    Examples
    --------
    >>> flip = Mechanism([[.75, .25], [.25, .75]], inputs=["no", "yes"], outputs=["no", "yes"])
    >>> flip.output_distribution(Prior([.5, .5], ["no", "yes"]))
    array([0.5, 0.5])
    """

    __slots__ = ("__dict__", "denominator", "inputs", "outputs", "row_error", "weights")

    #: ``(N, M)`` integer weights: the kernel is exactly ``weights / denominator``.
    weights: NDArray[Any]
    #: A power of two where reports are drawn by these weights, see :attr:`bits`.
    denominator: int
    #: Largest distance of a row sum from one, exact; 0 for a kernel whose rows sum to exactly one.
    row_error: Fraction
    inputs: tuple[Label, ...]
    outputs: tuple[Label, ...]
    #: Names of the columns that the inputs are made of, where they are known.
    schema: Schema | None = None

    @checked(KernelError, normalise=Flag())
    def __init__(
        self,
        kernel: ArrayLike,
        inputs: Iterable[Any] | None = None,
        outputs: Iterable[Any] | None = None,
        *,
        normalise: bool = False,
    ) -> None:
        matrix = _checked_kernel(kernel, normalise)
        if inputs is None:
            inputs = _row_labels(kernel)
        if outputs is None and hasattr(kernel, "columns"):
            outputs = list(kernel.columns)
        found = _rationals(kernel, normalise)
        if found is None:
            weights, bits = dyadic(matrix)
            found = weights, 1 << bits
        self._fill(*found, inputs, outputs)

    @classmethod
    @checked(KernelError, bits=Whole(0, MOST_BITS, remedy="pass the power of two of the weights"))
    def from_weights(
        cls,
        weights: NDArray[Any],
        bits: int,
        inputs: Iterable[Any] | None = None,
        outputs: Iterable[Any] | None = None,
        *,
        check: bool = True,
    ) -> Mechanism:
        """The kernel ``weights / 2**bits`` from an ``(N, M)`` array of non-negative integers."""
        return cls.over(weights, 1 << int(bits), inputs, outputs, check=check)

    @classmethod
    def over(
        cls,
        weights: NDArray[Any],
        denominator: int,
        inputs: Iterable[Any] | None = None,
        outputs: Iterable[Any] | None = None,
        *,
        check: bool = True,
    ) -> Mechanism:
        """The kernel ``weights / denominator`` from an ``(N, M)`` array of non-negative integers.

        Raises :class:`KernelError` for other weights, and, unless ``check`` is false, for rows that
        do not sum to the denominator, a positive integer, within 1e-6 of it.
        """
        mechanism = cls.__new__(cls)
        expected, got, remedy = "an N×M array of integers", "", "give one row per input"
        try:
            array = np.array(weights)
            got = "" if array.ndim == 2 and 0 not in array.shape else f"shape {array.shape}"
        except ValueError:
            got = f"a {type(weights).__name__} of rows of different lengths"
        if not got:
            mixed = array.dtype == object
            whole = mixed and all(isinstance(w, (int, np.integer)) for w in array.flat)
            if not whole and not np.issubdtype(array.dtype, np.integer):
                expected, remedy = "integers", "use Mechanism(...) for floats"
                got = "other objects" if mixed else f"dtype {array.dtype}"
            elif (array < 0).any():
                expected, got, remedy = "non-negative integers", str(array.min()), "correct it"
        if got:
            raise KernelError("kernel weights", expected=expected, got=got, remedy=remedy)
        mechanism._fill(array, denominator, inputs, outputs)
        off = mechanism.row_error
        if check and off > Fraction(_ROW_TOLERANCE):
            raise KernelError(
                "kernel weights",
                expected=f"rows with sum {quote(denominator, 40)}",
                got=f"a row off by {nearest_float(off):.3g} of it",
                remedy="correct the row",
            )
        return mechanism

    def _fill(
        self,
        weights: NDArray[Any],
        one: int,
        inputs: Iterable[Any] | None,
        outputs: Iterable[Any] | None,
    ) -> None:
        weights = np.ascontiguousarray(weights)
        weights.setflags(write=False)
        self.weights, self.denominator = weights, one
        self.inputs = check_labels(inputs, weights.shape[0], "kernel inputs", KernelError)
        self.outputs = check_labels(outputs, weights.shape[1], "kernel outputs", KernelError)
        fits = weights.dtype != object and int(weights.max()) < (1 << 62) // weights.shape[1]
        sums = weights.sum(axis=1) if fits else weights.astype(object).sum(axis=1)
        self.row_error = Fraction(max(int(sums.max()) - one, one - int(sums.min()), 0), one)

    @property
    def bits(self) -> int:
        """The power of two that the weights are over; raises :class:`KernelError` for a kernel of
        other rationals.
        """
        bits = self.denominator.bit_length() - 1
        if self.denominator != 1 << bits:
            raise KernelError(
                "kernel",
                expected="entries over a power of two, as designs have",
                got=f"entries over {quote(self.denominator, 40)}",
                remedy="take a design, or make the kernel one with md.certify",
            )
        return bits

    def with_schema(self, schema: Any) -> Self:
        """The same kernel with names for the columns that its inputs are made of.

        Parameters
        ----------
        schema : column name, list of them, mapping from names to bins, Schema, or ``None``
            With several names every input is a tuple with one value for each.

        Raises
        ------
        KernelError
            For inputs that are no such tuples.
        """
        found = copy(self)
        found.schema = None if schema is None else Schema.of(schema)
        if found.schema is not None:
            found.schema.check(self.inputs, KernelError)
        return found

    @property
    def is_exact(self) -> bool:
        """Whether every row sums to exactly one, as rational numbers."""
        return self.row_error == 0

    @property
    def slack(self) -> Fraction:
        """Factor up to which ratios of likelihoods are known, as rows may be off."""
        return (1 + self.row_error) / (1 - self.row_error)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of inputs N and of outputs M."""
        return self.weights.shape[0], self.weights.shape[1]

    @cached_property
    def kernel(self) -> NDArray[np.float64]:
        """The ``(N, M)`` kernel as floats, rows divided by their sums (read-only)."""
        if self.weights.dtype == object or self.denominator & (self.denominator - 1):
            matrix = np.array([[int(w) / self.denominator for w in row] for row in self.weights])
        else:
            matrix = np.ldexp(self.weights.astype(np.float64), -self.bits)
        if not self.is_exact:
            matrix = matrix / matrix.sum(axis=1, keepdims=True)
        matrix.setflags(write=False)
        return matrix

    # What an observer learns

    def output_distribution(self, prior: Prior) -> NDArray[np.float64]:
        """P(Y) under a prior, an ``(M,)`` array."""
        return self._masses(prior) @ self.kernel

    def joint(self, prior: Prior) -> NDArray[np.float64]:
        """P(X, Y) under a prior, an ``(N, M)`` array."""
        return self._masses(prior)[:, None] * self.kernel

    def posterior(self, prior: Prior) -> NDArray[np.float64]:
        """P(X|Y), an ``(N, M)`` array with one distribution per column.

        An outcome of probability zero is uninformative: its column is the prior.
        """
        p = self._masses(prior)
        joint = self.joint(prior)
        q = joint.sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(q > 0, joint / np.where(q > 0, q, 1), p[:, None])

    def information_density(self, prior: Prior) -> NDArray[np.float64]:
        """i(x;y) = log P(x|y)/P(x) in nats, an ``(N, M)`` array.

        ``-inf`` where y rules x out; 0 for outcomes of probability zero. Computed from the kernel,
        so that symbols of zero mass have a density as well.
        """
        q = self.output_distribution(prior)
        with np.errstate(divide="ignore", invalid="ignore"):
            lift = np.where(q > 0, self.kernel / np.where(q > 0, q, 1), 1.0)
            return np.log(lift)

    # Building mechanisms from mechanisms (all exact: integer weights in, integer weights out)

    def _over(self, weights: NDArray[Any], one: int, outputs: Iterable[Any]) -> Mechanism:
        """A kernel on the same inputs."""
        found = Mechanism.over(weights, one, self.inputs, outputs, check=False)
        return found.with_schema(self.schema)

    def cascade(self, channel: Mechanism) -> Mechanism:
        """Post-processing: feed this mechanism's output into ``channel``.

        The outputs here must be the inputs of ``channel``, in the same order. Also ``a @ b``.
        """
        channel = mechanism_of(channel, "second mechanism")
        if self.outputs != channel.inputs:
            raise KernelError(
                "cascade",
                expected=f"a channel with the {len(self.outputs)} inputs {self.outputs[:4]}…",
                got=f"{counted(len(channel.inputs), 'input')} {channel.inputs[:4]}…",
                remedy="give both the same labels in the same order",
            )
        weights = self.weights.astype(object) @ channel.weights.astype(object)
        return self._over(weights, self.denominator * channel.denominator, channel.outputs)

    def __matmul__(self, channel: Mechanism) -> Mechanism:
        return self.cascade(channel)

    def product(self, other: Mechanism) -> Mechanism:
        """Two secrets, released independently: inputs and outputs are pairs (Kronecker product)."""
        other = mechanism_of(other, "second mechanism")
        found = Mechanism.over(
            np.kron(self.weights.astype(object), other.weights.astype(object)),
            self.denominator * other.denominator,
            product(self.inputs, other.inputs),
            product(self.outputs, other.outputs),
            check=False,
        )
        if self.schema is None or other.schema is None:
            return found
        return found.with_schema(self.schema.joined(other.schema))

    def parallel(self, other: Mechanism) -> Mechanism:
        """Two independent reports about the same secret: outputs are pairs."""
        other = mechanism_of(other, "second mechanism")
        if self.inputs != other.inputs:
            raise KernelError(
                "parallel composition",
                expected="two mechanisms with the same inputs",
                got=f"{self.inputs[:4]}… and {other.inputs[:4]}…",
                remedy="give both the same labels in the same order",
            )
        left, right = self.weights.astype(object), other.weights.astype(object)
        pairs = (left[:, :, None] * right[:, None, :]).reshape(self.shape[0], -1)
        outputs = product(self.outputs, other.outputs)
        return self._over(pairs, self.denominator * other.denominator, outputs)

    def merge(self, groups: Iterable[Sequence[Any]] | Callable[[Any], Any]) -> Mechanism:
        """Report only which group an output is in.

        Parameters
        ----------
        groups : lists of output labels, or a function from output label to new label
            With lists, outputs that no list names stay as they are; a group is named by the tuple
            of its labels.

        Examples
        --------
        >>> m = Mechanism([[.5, .3, .2], [.2, .3, .5]], outputs=["a", "b", "c"])
        >>> m.merge([["b", "c"]]).outputs
        ('a', ('b', 'c'))
        """
        if callable(groups):
            target = {label: groups(label) for label in self.outputs}
        else:
            target = {label: label for label in self.outputs}
            named: set[Label] = set()
            told = "groups of outputs", "lists of output labels, or a function of a label"
            remedy = "write [['a', 'b']] to merge a and b"
            for group in listed(groups, *told, KernelError, remedy):
                for label in listed(group, *told, KernelError, remedy):
                    if not isinstance(label, Hashable) or label not in target or label in named:
                        raise KernelError(
                            "groups of outputs",
                            expected=f"each a list of distinct outputs among {self.outputs[:6]}",
                            got=quote(label),
                            remedy="name each output at most once",
                        )
                    named.add(label)
                    target[label] = tuple(group) if len(group) > 1 else label
            kept = {label for label in self.outputs if target[label] == label}
            clash = kept.intersection(v for k, v in target.items() if k != v)
            if clash:
                raise KernelError(
                    "groups of outputs",
                    expected="groups whose names are no outputs",
                    got=f"an output named {quote(clash.pop())} already",
                    remedy="name the groups with a function",
                )
        new = list(dict.fromkeys(target[label] for label in self.outputs))
        place = {label: i for i, label in enumerate(new)}
        weights = np.zeros((self.shape[0], len(new)), dtype=object)
        for j, label in enumerate(self.outputs):
            weights[:, place[target[label]]] += self.weights[:, j]
        return self._over(weights, self.denominator, new)

    @checked(KernelError, weight=Number(0, 1, "weight of a mixture", _SECOND))
    def mix(self, other: Mechanism, weight: Any) -> Mechanism:
        """With probability ``1 - weight`` run this mechanism, else ``other`` (same labels)."""
        other = mechanism_of(other, "second mechanism")
        if self.inputs != other.inputs or self.outputs != other.outputs:
            raise KernelError(
                "mixture",
                expected="two mechanisms with the same inputs and outputs",
                got="different labels",
                remedy="relabel or merge first",
            )
        share = fraction(weight)
        mine, theirs, one = self._beside(other)
        mixed = mine * (share.denominator - share.numerator) + theirs * share.numerator
        return self._over(mixed, one * share.denominator, self.outputs)

    def trimmed(self) -> Mechanism:
        """Without the outputs that never occur, whatever the secret."""
        used = np.flatnonzero((self.weights != 0).any(axis=0))
        outputs = [self.outputs[j] for j in used]
        return self._over(self.weights[:, used], self.denominator, outputs)

    # How it looks

    def to_text(self, digits: int = 4, most: int = 12) -> str:
        """The kernel as a table with at most ``most`` rows and columns."""
        rows, columns = self._shown(most)
        grid = [["", *short_names([self.outputs[j] for j in columns], 12)]]
        for i, name in zip(rows, short_names([self.inputs[i] for i in rows], 18), strict=True):
            grid.append([name, *(f"{self.kernel[i, j]:.{digits}f}" for j in columns)])
        widths = [max(len(line[k]) for line in grid) for k in range(len(grid[0]))]
        lines = [
            "  ".join(
                cell.ljust(width) if k == 0 else cell.rjust(width)
                for k, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in grid
        ]
        left_out = (self.shape[0] - len(rows), self.shape[1] - len(columns))
        if any(left_out):
            lines.append(
                f"… {counted(left_out[0], 'more input')}, {counted(left_out[1], 'more output')}"
            )
        return "\n".join(lines)

    def _shown(self, most: int) -> tuple[range, range]:
        return range(min(most, self.shape[0])), range(min(most, self.shape[1]))

    def __repr__(self) -> str:
        return f"Mechanism({told_shape(self.shape)})\n{self.to_text()}"

    def _repr_html_(self) -> str:
        rows, columns = self._shown(30)
        heads = short_names([self.outputs[j] for j in columns], 18)
        names = short_names([self.inputs[i] for i in rows], 18)
        head = "".join(f"<th>{html.escape(name)}</th>" for name in heads)
        body = "".join(
            f"<tr><th>{html.escape(name)}</th>"
            + "".join(
                f'<td style="background:rgba(31,119,180,{0.75 * self.kernel[i, j]:.2f})">'
                f"{self.kernel[i, j]:.4f}</td>"
                for j in columns
            )
            + "</tr>"
            for i, name in zip(rows, names, strict=True)
        )
        return (
            f"<table><caption>P(Y|X), {told_shape(self.shape)}</caption>"
            f"<thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody></table>"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mechanism):
            return NotImplemented
        if self.inputs != other.inputs or self.outputs != other.outputs:
            return False
        mine, theirs, _ = self._beside(other)
        return bool((mine == theirs).all())

    def _beside(self, other: Mechanism) -> tuple[NDArray[Any], NDArray[Any], int]:
        """The weights of both over one denominator, and that."""
        one = math.lcm(self.denominator, other.denominator)
        mine, theirs = (m.weights.astype(object) * (one // m.denominator) for m in (self, other))
        return mine, theirs, one

    def __hash__(self) -> int:
        return hash((self.inputs, self.outputs, self.kernel.tobytes()))

    def _masses(self, prior: Prior) -> NDArray[np.float64]:
        self.check_prior(prior)
        return prior.probabilities

    def check_prior(self, prior: Prior) -> None:
        """Raise a :class:`KernelError` unless the prior is over this mechanism's inputs."""
        check_prior(self.inputs, prior)


def _row_labels(kernel: Any) -> list[Label] | None:
    """Row labels of a pandas frame, unless they are just 0 … N-1."""
    index = getattr(kernel, "index", None)
    if not hasattr(kernel, "columns") or index is None:
        return None
    labels = list(index)
    return None if labels == list(range(len(labels))) else labels


def _checked_kernel(kernel: ArrayLike, normalise: bool) -> NDArray[np.float64]:
    """The kernel as floats, or a :class:`KernelError` that says what is wrong with it."""
    matrix = finite_matrix(
        kernel,
        "kernel",
        error=KernelError,
        expected="an N×M array of numbers (of a design, its .mechanism)",
        remedy="correct the entry",
    )
    matrix = np.where((matrix < 0) & (matrix >= -_NEGATIVE_TOLERANCE), 0.0, matrix)
    if (matrix < 0).any():
        i, j = np.argwhere(matrix < 0)[0]
        raise KernelError(
            "kernel",
            expected="non-negative probabilities",
            got=f"{matrix[i, j]} in row {i}, column {j}",
            remedy="correct the entry",
        )
    if normalise and matrix.max() > 1:
        # A power of two that keeps the sums of rows finite.
        matrix = np.ldexp(matrix, -int(np.frexp(matrix.max())[1]))
    with np.errstate(over="ignore"):
        sums = matrix.sum(axis=1)
    if normalise:
        if (sums <= 0).any():
            raise KernelError(
                "kernel",
                expected="rows with a positive sum",
                got=f"row {int(np.argmin(sums))} of zeros",
                remedy="correct the row",
            )
        return matrix / sums[:, None]
    worst = int(np.argmax(np.abs(sums - 1)))
    if abs(sums[worst] - 1) > _ROW_TOLERANCE:
        raise KernelError(
            "kernel",
            expected="rows with sum 1 (within 1e-6)",
            got=f"sum {sums[worst]:.9g} in row {worst}",
            remedy="correct the row, or pass normalise=True (--normalise) for rounded numbers",
        )
    return matrix


def _rationals(kernel: Any, normalise: bool) -> tuple[NDArray[Any], int] | None:
    """The entries as integers over one denominator, where any is a ``Fraction`` or a ``Decimal``;
    rows are divided by their sums to ``normalise`` them.
    """
    array = np.array(kernel)
    if array.dtype != object or not any(isinstance(v, (Fraction, Decimal)) for v in array.flat):
        return None
    rows = [[max(fraction(v), Fraction(0)) for v in row] for row in array]
    if normalise:
        rows = [[v / sum(row) for v in row] for row in rows]
    integers, one = common_integers(v for row in rows for v in row)
    return np.array(integers, dtype=object).reshape(array.shape), one


def check_prior(inputs: tuple[Label, ...], prior: Prior) -> None:
    """Raise a :class:`KernelError` unless a prior is over the inputs of a mechanism."""
    if not isinstance(prior, Prior):
        raise KernelError(
            "prior of a mechanism",
            expected="a Prior",
            got=type(prior).__name__,
            remedy="wrap it: md.Prior(probabilities, mechanism.inputs)",
        )
    if prior.labels != inputs:
        own = set(inputs)
        cause = near_miss((x for x in prior.labels if x not in own), inputs)
        if len(prior) != len(inputs):
            expected, got = f"a prior over {len(inputs)} symbols", str(len(prior))
        else:
            expected = f"a prior over the inputs {inputs[:6]}"
            got = f"labels {prior.labels[:6]}"
        raise KernelError(
            "prior of a mechanism",
            expected=expected,
            got=got,
            remedy="use the same labels in the same order" + (f" ({cause})" if cause else ""),
        )


class ImplicitKernel(ABC):
    """A kernel that is drawn from without a matrix; its outputs are integers from 0 on."""

    inputs: Sequence[Label]
    #: Names of the columns that symbols are made of, where known.
    schema: Schema | None = None

    @property
    @abstractmethod
    def outputs(self) -> range:
        """All reports."""

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """Equal for equal kernels, in hexadecimal digits."""

    @abstractmethod
    def likelihood(self, reports: NDArray[np.int64]) -> NDArray[np.float64]:
        """``(R, N)`` chances of reports given each input."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of inputs N and of outputs."""
        return len(self.inputs), len(self.outputs)

    def check_prior(self, prior: Prior) -> None:
        """Raise a :class:`KernelError` unless the prior is over these inputs."""
        check_prior(tuple(self.inputs), prior)


def kernel_of(item: Any, subject: str = "mechanism") -> Mechanism | ImplicitKernel:
    """The kernel of whatever reports are drawn from: :func:`mechanism_of`, or an implicit one."""
    return item if isinstance(item, ImplicitKernel) else mechanism_of(item, subject)


def mechanism_of(item: Any, subject: str = "mechanism") -> Mechanism:
    """The mechanism of a design, or a mechanism as it is.

    Raises :class:`KernelError` for anything else.
    """
    if isinstance(item, ImplicitKernel):
        raise KernelError(
            subject,
            expected="a kernel that is a matrix",
            got=f"a {type(item).__name__} of {item.shape[0]} symbols, which is none",
            remedy="its levels are in .certificate, those of other notions in .check(notion); for "
            "anything else design for fewer symbols",
        )
    found = getattr(item, "mechanism", item)
    if not isinstance(found, Mechanism):
        raise KernelError(
            subject,
            expected="a Mechanism or a Design",
            got=type(item).__name__,
            remedy="wrap a kernel: md.Mechanism(kernel, inputs, outputs)",
        )
    return found


def as_mechanism(item: Any) -> Mechanism:
    """A mechanism, a design's mechanism, or a matrix as a mechanism.

    Raises :class:`KernelError` for what is none of them, and for kernels without a matrix.
    """
    if isinstance(item, ImplicitKernel) or hasattr(item, "mechanism"):
        return mechanism_of(item)
    return item if isinstance(item, Mechanism) else Mechanism(item)


def guess_probability(mechanism: Mechanism, prior: Prior | None = None) -> Fraction:
    """How likely a best guess of the secret from one report is right, where all symbols are equally
    likely; of the symbols that a prior has, if one is given.

    >>> guess_probability(Mechanism([[0.75, 0.25], [0.25, 0.75]]))
    Fraction(3, 4)
    """
    weights = mechanism.weights if prior is None else mechanism.weights[prior.support]
    return Fraction(sum(weights.max(axis=0).tolist()), len(weights) * mechanism.denominator)


def best_guesses(mechanism: Mechanism, prior: Prior | None = None) -> tuple[float, float]:
    """How likely a best guess of the secret is right without a report, and with one; where all
    symbols are equally likely unless a prior is given.

    >>> best_guesses(Mechanism([[0.75, 0.25], [0.25, 0.75]]))
    (0.5, 0.75)
    """
    count, outputs = mechanism.shape
    masses = np.full(count, 1 / count) if prior is None else prior.probabilities
    parts = np.array_split(mechanism.kernel, range(_COLUMNS, outputs, _COLUMNS), axis=1)
    after = math.fsum((masses[:, None] * part).max(axis=0).sum() for part in parts)
    return float(masses.max()), min(after, 1.0)


def warn_of_disclosure(mechanism: Mechanism, prior: Prior | None = None, subject: str = "") -> None:
    """Warn of a kernel of which one report gives the secret away, or much of it.

    That is where a best guess is right ten times as often, or wrong in less than a third of the
    cases, whatever the notion is.

    Where a prior has one symbol only there is nothing to hide.
    """
    symbols = len(mechanism.inputs) if prior is None else len(prior.support)
    guessed = guess_probability(mechanism, prior)
    if symbols < 2:
        return
    if guessed >= _DISCLOSED:
        # Rounded down, as it is a probability of less than one unless it is one.
        percent = math.floor(guessed * 100_000) / 1000
        rate = "always right" if guessed == 1 else f"right with probability {percent:g} % or more"
        told = (
            f"a best guess of the secret from one single report is {rate} where all {symbols} "
            "symbols are equally likely, so that nothing is hidden in effect"
        )
    else:
        before, after = best_guesses(mechanism, prior)
        # Without numbers, so that a loop over levels is told once.
        if after >= _RISE * before:
            told = f"right more than {_RISE} times as often as without it"
        elif _FALL * (1 - after) < 1 - before:
            told = "wrong in less than a third of the cases in which it is without it"
        else:
            return
        told = f"with one single report a best guess of the secret is {told}: little is hidden"
    warn(f"{subject}{told}; ask for a smaller level if it should be", DisclosureWarning)
