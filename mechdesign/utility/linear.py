"""Linear utilities: expected gain E[u(X, Y)] of an output for the true symbol."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import UnknownNameError, UtilityError, listed, quote
from ..labels import Label, check_labels
from ..mechanism import Mechanism
from ..numeric import finite_matrix
from ..prior import Prior
from ..schema import attribute_names, attribute_values
from .base import Utility

Array = NDArray[np.float64]


class OutputUtility(Utility, register=False):
    """A utility of a kernel whose outputs are given and have names."""

    def output_labels(self, prior: Prior) -> tuple[Label, ...]:
        """The outputs used when none are asked for: the prior's symbols."""
        return prior.labels

    def labels_for(self, prior: Prior, outputs: Any) -> tuple[Label, ...]:
        """Output labels for an ``outputs=`` argument: ``None``, or a sequence of labels."""
        if outputs is None:
            return self.output_labels(prior)
        if isinstance(outputs, (int, np.integer)):
            default = self.output_labels(prior)
            if int(outputs) == len(default):
                return default
            raise UtilityError(
                f"outputs for {type(self).__name__}",
                expected=f"output labels, or the number {len(default)}",
                got=f"the number {quote(outputs)}",
                remedy="list the labels, so that the value of each output is known",
            )
        remedy = "leave it out, or name the outputs"
        labels = listed(outputs, "outputs", "a list of labels", UtilityError, remedy)
        if not labels:
            raise UtilityError(
                "outputs",
                expected="at least one output",
                got="none",
                remedy="leave it out, or name the outputs",
            )
        return check_labels(labels, len(labels), "outputs", UtilityError)

    def checked_labels(self, prior: Prior, outputs: Any) -> tuple[Label, ...]:
        """:meth:`labels_for`, or a :class:`UtilityError` where it does not give distinct labels."""
        found = self.labels_for(prior, outputs)
        subject, expected = f"labels_for of {type(self).__name__}", "a tuple of labels"
        labels = listed(found, subject, expected, UtilityError, "return one label for each output")
        return check_labels(labels, len(labels), subject, UtilityError)


class LinearUtility(OutputUtility):
    """E[u(X, Y)] for a gain matrix u: linear in the kernel."""

    @abstractmethod
    def gains(self, prior: Prior, outputs: Sequence[Label]) -> Array:
        """The ``(N, M)`` matrix u over the prior's symbols and the given outputs."""

    @property
    def is_by_output(self) -> bool:
        """Whether gains may be asked for some outputs alone, as those of one do not depend on the
        others.
        """
        return False

    def positions(self, prior: Prior, outputs: Sequence[Label]) -> Array | None:
        """Coordinates of outputs, ``(M, d)``, where gains fall with the distance from a symbol;
        ``None`` where none are known.
        """
        return None

    def value(self, mechanism: Mechanism, prior: Prior) -> float:
        """Expected utility Σ p(x) K[x,y] u(x,y)."""
        joint = mechanism.joint(prior)
        gains = self.gains(prior, mechanism.outputs)
        return float((joint * gains).sum())


def checked_matrix(values: Any, shape: tuple[int, int] | None, subject: str) -> Array:
    """A finite float matrix, of a given shape if one is given."""
    infinite = "replace it; forbid an outcome by a large loss instead of an infinite one"
    matrix = finite_matrix(values, subject, error=UtilityError, shape=shape, remedy=infinite)
    matrix.setflags(write=False)
    return matrix


class _OfAttribute(LinearUtility, register=False):
    """A utility of symbols, or of one of the columns that they are made of."""

    #: Names of columns; ``None`` for whole symbols.
    of: tuple[str, ...] | None = None

    def _set_of(self, of: Any) -> None:
        self.of = attribute_names(of)
        if of is not None and self.of is None:
            raise UtilityError(
                f"columns of {type(self).__name__}",
                expected="the name of a column of the prior, or a list of names",
                got=quote(of),
                remedy="write for example of='sex'",
            )

    def _symbols(self, prior: Prior) -> Sequence[Label]:
        """What outputs are compared with, for each symbol."""
        if self.of is None:
            return prior.labels
        return attribute_values(self.of, prior.schema, prior.labels, UtilityError)

    def _of_text(self, mark: str) -> str:
        return "" if self.of is None else mark + "+".join(self.of)


class Hamming(_OfAttribute):
    """P(Y = X): the probability that the output is the true symbol (1 minus the 0-1 loss).

    Symbols and outputs are matched by label, so the outputs may be any list of labels.

    Parameters
    ----------
    of : name of a column that the prior's symbols are made of, or list of names, optional
        What the output should be, in place of the whole symbol. Its values are then the outputs.

    Raises
    ------
    UtilityError
        For what names no columns, and with priors whose columns have no names.

    Examples
    --------
    >>> Hamming().gains(Prior([.5, .5], ["a", "b"]), ["b", "c"])
    array([[0., 0.],
           [1., 0.]])
    >>> pairs = Prior([.5, .3, .2], [("a", 0), ("a", 1), ("b", 0)]).with_schema(["x", "y"])
    >>> Hamming(of="x").output_labels(pairs)
    ('a', 'b')
    """

    def __init__(self, of: str | Sequence[str] | None = None) -> None:
        self._set_of(of)

    @property
    def spec(self) -> str:
        """``hamming``, with the names of columns where it is of some."""
        return "hamming" + self._of_text(":")

    def output_labels(self, prior: Prior) -> tuple[Label, ...]:
        """The prior's symbols, or the values of the columns named."""
        return tuple(dict.fromkeys(self._symbols(prior)))

    def gains(self, prior: Prior, outputs: Sequence[Label]) -> Array:
        """1 where output and symbol bear the same label, else 0; ``(N, M)``."""
        place = {label: j for j, label in enumerate(outputs)}
        matrix = np.zeros((len(prior), len(outputs)))
        for i, label in enumerate(self._symbols(prior)):
            if label in place:
                matrix[i, place[label]] = 1.0
        if not matrix.any():
            raise UtilityError(
                "outputs for Hamming",
                expected="at least one output that is a symbol of the prior",
                got=f"outputs {list(outputs)[:6]} for symbols {list(prior.labels)[:6]}",
                remedy="use the same labels on both sides (text and numbers differ)"
                + (
                    f"; md.require.outputs({outputs[0]}) (--require outputs:{outputs[0]}) limits "
                    "their number"
                    if len(outputs) == 1 and isinstance(outputs[0], int)
                    else ""
                ),
            )
        return matrix

    def __repr__(self) -> str:
        return f"Hamming({self._of_text('of ')})"


class Matrix(LinearUtility):
    """E[u(X, Y)] for an N×M matrix ``u[x, y]``.

    Parameters
    ----------
    u : (N, M) array
        Gain of output y when the symbol is x; M may differ from N.
    outputs : M labels, optional
        Names of the outputs; the prior's labels when M = N, else ``0 … M-1``.
    """

    def __init__(self, u: ArrayLike, outputs: Iterable[Any] | None = None) -> None:
        self.u = checked_matrix(u, None, "utility matrix")
        self._outputs = (
            None
            if outputs is None
            else check_labels(outputs, self.u.shape[1], "utility outputs", UtilityError)
        )

    def output_labels(self, prior: Prior) -> tuple[Label, ...]:
        """The labels given, else the prior's when M = N, else ``0 … M-1``."""
        if self._outputs is not None:
            return self._outputs
        m = self.u.shape[1]
        return prior.labels if m == len(prior) else tuple(range(m))

    def gains(self, prior: Prior, outputs: Sequence[Label]) -> Array:
        """The matrix, checked against the problem's shape."""
        if self.u.shape[0] != len(prior):
            raise UtilityError(
                "utility matrix",
                expected=f"{len(prior)} rows, one per symbol of the prior",
                got=f"{self.u.shape[0]}",
                remedy="give one row per symbol",
            )
        if self._outputs is not None and tuple(outputs) != self._outputs:
            place = {label: j for j, label in enumerate(self._outputs)}
            unknown = [label for label in outputs if label not in place]
            if unknown:
                raise UtilityError(
                    "outputs",
                    expected=f"some of {list(self._outputs)[:6]}",
                    got=quote(unknown[0]),
                    remedy="name columns of the utility matrix",
                )
            return self.u[:, [place[label] for label in outputs]]
        if self.u.shape[1] != len(outputs):
            raise UtilityError(
                "utility matrix",
                expected=f"{len(outputs)} columns, one per output",
                got=f"{self.u.shape[1]}",
                remedy="give one column per output",
            )
        return self.u

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.u.shape[0]}×{self.u.shape[1]})"


def tabulate(
    function: Callable[[Any, Any], float],
    rows: Sequence[Label],
    columns: Sequence[Label],
    name: str,
) -> list[list[float]]:
    """A user's function of two labels as a table; its own errors become :class:`UtilityError`."""
    try:
        return [[function(x, y) for y in columns] for x in rows]
    except Exception as problem:
        raise UtilityError(
            name,
            expected="a number for every symbol and output",
            got=f"{type(problem).__name__}: {problem}",
            remedy="let the function take the labels of the prior and of the outputs",
        ) from problem


_DISTANCES: dict[str, Callable[[Any, Any], float]] = {
    "absolute": lambda x, y: abs(x - y),
    "squared": lambda x, y: (x - y) ** 2,
    "euclidean": lambda x, y: np.sqrt(
        sum((x[..., i] - y[..., i]) ** 2 for i in range(x.shape[-1]))
    ),
    "discrete": lambda x, y: float(x != y),
}


class Distance(_OfAttribute):
    """−E[d(X, Y)]: an expected loss, entered as its negative.

    Parameters
    ----------
    d : {"absolute", "squared", "euclidean", "discrete"}, function, or (N, M) array
        A named distance between numeric labels (``"euclidean"``: between labels that are tuples of
        equally many numbers, such as coordinates), a function of a symbol's and an output's label,
        or the matrix of distances. Bins of numbers stand at their midpoints; a missing answer
        beside them, ``None``, is as far from each as the first of them is from the last.
    of : name of a column that the prior's symbols are made of, or list of names, optional
        What outputs are compared with, in place of whole symbols. Not for matrices.

    Raises
    ------
    UtilityError, UnknownNameError
        For distances and columns that are none.

    Examples
    --------
    >>> Distance("absolute").gains(Prior([.5, .5], [0, 10]), [0, 5, 10])
    array([[ -0.,  -5., -10.],
           [-10.,  -5.,  -0.]])
    """

    def __init__(
        self,
        d: str | Callable[[Any, Any], float] | ArrayLike,
        of: str | Sequence[str] | None = None,
    ) -> None:
        self._set_of(of)
        self._matrix = None if isinstance(d, str) or callable(d) else Matrix(d)
        self._name = "function" if callable(d) else "matrix"
        if isinstance(d, str):
            self._name = "absolute" if d == "abs" else d
            if self._name not in _DISTANCES:
                raise UnknownNameError("distance", d, _DISTANCES)
        self._function: Any = d if callable(d) else _DISTANCES.get(self._name)
        if self._matrix is not None and self.of is not None:
            raise UtilityError(
                "columns of a distance",
                expected="a distance by name or a function, of values of the columns",
                got="a matrix, which says the distance of whole symbols",
                remedy="leave out of=",
            )

    @property
    def spec(self) -> str:
        """The name of the distance."""
        return f"distance:{self._name}{self._of_text(':')}"

    def output_labels(self, prior: Prior) -> tuple[Label, ...]:
        """The prior's labels, the columns of the matrix, or the values of the columns named."""
        if self._matrix is not None:
            return self._matrix.output_labels(prior)
        return tuple(dict.fromkeys(self._symbols(prior)))

    def gains(self, prior: Prior, outputs: Sequence[Label]) -> Array:
        """−d, an ``(N, M)`` array."""
        if self._matrix is not None:
            return -self._matrix.gains(prior, outputs)
        symbols = self._symbols(prior)
        if self._name in ("absolute", "squared"):
            table: Any = self._numeric(prior, outputs)
        elif self._name == "euclidean":
            x, y = coordinates(symbols), coordinates(outputs)
            with np.errstate(over="ignore", invalid="ignore"):
                table = self._function(x[:, None], y[None, :])
        else:
            table = tabulate(self._function, symbols, outputs, "distance function")
        return -checked_matrix(table, (len(prior), len(outputs)), "distances")

    @property
    def is_by_output(self) -> bool:
        """So it is for distances by name."""
        return self._name in _DISTANCES

    def positions(self, prior: Prior, outputs: Sequence[Label]) -> Array | None:
        """The labels themselves, or midpoints of bins, where they are numbers or tuples of them."""
        if self._name == "euclidean":
            return coordinates(outputs)
        if self._name not in ("absolute", "squared") or any(label is None for label in outputs):
            return None
        middle = _midpoints(prior, self.of)
        return np.array([middle.get(label, label) for label in outputs], dtype=float)[:, None]

    def _numeric(self, prior: Prior, outputs: Sequence[Label]) -> Array:
        middle = _midpoints(prior, self.of)
        rows, columns = (
            [middle.get(label, label) for label in v] for v in (self._symbols(prior), outputs)
        )
        try:
            if any(isinstance(label, (str, bool)) for label in (*rows, *columns)):
                raise TypeError
            x, y = np.array(rows, dtype=float), np.array(columns, dtype=float)
            with np.errstate(over="ignore", invalid="ignore"):
                found = np.asarray(self._function(x[:, None], y[None, :]))
                missing = [np.array([label is None for label in v]) for v in (rows, columns)]
                if middle and any(part.any() for part in missing):
                    numbers = np.concatenate([x[~missing[0]], y[~missing[1]]])
                    farthest = self._function(numbers.max(), numbers.min()) if numbers.size else 1.0
                    found[np.logical_xor.outer(*missing)] = farthest
                    found[np.logical_and.outer(*missing)] = 0.0
                return found
        except (TypeError, OverflowError):
            raise UtilityError(
                f"distance {quote(self._name)}",
                expected="numeric labels",
                got=f"labels such as {quote(rows[0])} and {quote(columns[0])}",
                remedy="label the symbols with numbers, or give a matrix of distances",
            ) from None

    def __repr__(self) -> str:
        return f"Distance({self._name}{self._of_text(' of ')})"


def coordinates(labels: Sequence[Label]) -> Array:
    """Labels that are tuples of equally many numbers, ``(N, d)``; raises :class:`UtilityError`."""
    lengths = {len(label) if isinstance(label, tuple) else 0 for label in labels}
    if len(lengths) == 1 and 0 not in lengths:
        parts = [part for label in labels for part in label]
        numbers = (int, float, np.integer, np.floating)
        if all(isinstance(part, numbers) and not isinstance(part, bool) for part in parts):
            return np.array(parts, dtype=float).reshape(len(labels), -1)
    raise UtilityError(
        "distance 'euclidean'",
        expected="labels that are tuples of equally many numbers, such as (3, 4)",
        got=f"labels such as {quote(labels[0])} and {quote(labels[-1])}",
        remedy="label the symbols with their coordinates; absolute and squared compare numbers",
    )


def _midpoints(prior: Prior, of: Sequence[str] | None = None) -> dict[Label, float]:
    """The number that each label of a bin stands for, where what is compared is bins of one
    column.
    """
    schema = prior.schema if of is None or prior.schema is None else prior.schema.restricted(of)
    bins = None if schema is None or len(schema) > 1 else schema.bins[0]
    return {} if bins is None else bins.number_of


def default_utility(prior: Prior) -> LinearUtility:
    """What a design is for where nothing is said.

    That is the expected absolute distance between the midpoints of bins, as those have an order,
    unless they come again, as months do, and the probability that the output is the true symbol
    for all other symbols.

    >>> default_utility(Prior.uniform(2))
    Hamming()
    """
    return Distance("absolute") if _midpoints(prior) else Hamming()


class BayesGain(Matrix):
    """Expected gain of a decoder whose actions are the outputs: E[g(X, W)], W = Y.

    By relabelling each outcome with the action it leads to, the best mechanism-and-decoder pair is
    a mechanism whose outputs are the actions ([Alvim2012]; no privacy notion of the likelihood
    family is hurt by such post-processing).

    Parameters
    ----------
    g : (N, W) array, or function of a symbol's label and an action
        ``g[x, w]``, the gain of action w when the secret is x.
    actions : W labels
        Needed with a function; ``0 … W-1`` or the prior's labels otherwise.

    Raises
    ------
    UtilityError
        For gains that are no finite matrix, or a function without actions.
    """

    references: ClassVar = ("Alvim2012",)

    def __init__(
        self, g: ArrayLike | Callable[[Any, Any], float], actions: Iterable[Any] | None = None
    ) -> None:
        self._function = g if callable(g) else None
        if self._function is None:
            super().__init__(g, actions)  # type: ignore[arg-type]
            return
        if actions is None:
            raise UtilityError(
                "gain function",
                expected="actions= with the list of actions",
                got="none",
                remedy="name the actions that the function can be asked about",
            )
        named = listed(actions, "actions", "a list of actions", UtilityError, "name them")
        self._outputs = check_labels(named, len(named), "actions", UtilityError)

    def gains(self, prior: Prior, outputs: Sequence[Label]) -> Array:
        """``g[x, w]`` over the prior's symbols and the actions."""
        if self._function is None:
            return super().gains(prior, outputs)
        table = tabulate(self._function, prior.labels, outputs, "gain function")
        return checked_matrix(table, (len(prior), len(outputs)), "gain function")

    def __repr__(self) -> str:
        shown = "function" if self._function is not None else f"{self.u.shape[0]}×{self.u.shape[1]}"
        return f"BayesGain({shown})"
