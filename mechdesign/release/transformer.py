"""A scikit-learn transformer that privatises columns. Needs scikit-learn: ``mechdesign[sklearn]``.

It is not loaded with the package; import it from here:

>>> from mechdesign.release.transformer import Privatizer
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, InputError, RepeatWarning, warn
from ..extras import brought_by
from ..labels import counted
from ..mechanism import mechanism_of
from ..prior import Prior
from ..privacy import LDP
from ..solve._design import design
from ..tables import open_table
from ..tables.counting import is_missing
from ..theory._composition import largest_ratios
from ..utility import Hamming
from ._privatize import adapter_of
from .codes import ABSENT, Policy
from .drawing import Part, Release
from .receipts import Fingerprinter
from .words import words_from

with brought_by("sklearn"):
    from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
    from sklearn.utils._set_output import _get_output_config
    from sklearn.utils.validation import check_is_fitted, validate_data


class Privatizer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Replaces every column by reports, each drawn by a mechanism of its own.

    Parameters
    ----------
    mechanism : Mechanism, Design, list of these (one per column), or None
        With ``None``, a mechanism is designed for each column when it is fitted: symbols and prior
        are those of the training data, which then count as known to everybody.
    privacy : notion or list of notions, optional
        For the designs; LDP(1) when left out.
    utility : utility, optional
        For the designs; Hamming accuracy when left out.
    random_state : int, optional
        For repeatable research only. Production leaves it out, and the words come from the
        operating system. The words go on from one :meth:`transform` to the next, so that no two
        share theirs; fitting again starts anew.
    missing : {"error", "keep", "replace"}
        Nulls and NaN: refuse, leave null, or treat as ``replacement``. Rows that stay null are seen
        by everybody; no notion covers that.
    unseen : {"error", "null", "replace"}
        Values that are no inputs of a mechanism: refuse, leave null, or treat as ``replacement``.
    replacement : input of every mechanism, optional

    Attributes
    ----------
    mechanisms_ : one per column
    designs_ : the designs of the columns, where they were designed here
    together_ : float
        The level of LDP that the columns of one row keep together, in nats: the sum of those of the
        columns; ``inf`` where a report rules a symbol out

    Raises
    ------
    DataError
        When a value is no input of its mechanism, in :meth:`transform`.
    InputError
        For another number of mechanisms than columns, in :meth:`fit`.

    Warns
    -----
    RepeatWarning
        When several columns are reported, with what they add up to, in :meth:`fit`.

    Examples
    --------
    >>> import mechdesign as md
    >>> from mechdesign.release.transformer import Privatizer
    >>> Privatizer(privacy=md.LDP(2), random_state=1).fit_transform([["a"], ["b"], ["b"]]).shape
    (3, 1)
    """

    def __init__(
        self,
        mechanism: Any = None,
        privacy: Any = None,
        utility: Any = None,
        random_state: Any = None,
        missing: str = "error",
        unseen: str = "error",
        replacement: Any = None,
    ) -> None:
        self.mechanism = mechanism
        self.privacy = privacy
        self.utility = utility
        self.random_state = random_state
        self.missing = missing
        self.unseen = unseen
        self.replacement = replacement

    def fit(self, X: Any, y: Any = None) -> Privatizer:
        """Design a mechanism for each column, or check those that were given."""
        given = X
        X = self._validated(X, reset=True)
        width = X.shape[1]
        self.designs_: list[Any] = []
        if self.mechanism is None:
            goal, privacy = self.utility or Hamming(), self.privacy or LDP(1.0)
            if self.missing == "error":
                _refuse_missing(X, self._names)
            columns = self._columns(given, X)
            priors = [Prior.from_data(column, missing="drop") for column in columns]
            self.designs_ = [design(prior, goal, privacy) for prior in priors]
            self.mechanisms_ = [found.mechanism for found in self.designs_]
        else:
            listed = self.mechanism
            listed = listed if isinstance(listed, list) else [listed] * width
            if len(listed) != width:
                raise InputError(
                    "mechanisms of a Privatizer",
                    expected=f"one, or a list of one for each of {counted(width, 'column')}",
                    got=f"a list of {len(listed)}",
                    remedy="pass a list in the order of the columns, or without a list the one for "
                    "all of them",
                )
            self.mechanisms_ = [mechanism_of(designed) for designed in listed]
        policy = Policy(self.missing, self.unseen, self.replacement)
        source = self._source()
        self._parts = [
            Part(mechanism, [name], policy, words_from(source, f"column {j}"))
            for j, (name, mechanism) in enumerate(zip(self._names, self.mechanisms_, strict=True))
        ]
        levels = [float(np.log(largest_ratios(m).max())) for m in self.mechanisms_]
        self.together_ = float(sum(levels))
        if width > 1:
            warn(
                f"{width} columns of each row are reported: together LDP({self.together_:.4g}), "
                f"where each alone keeps LDP({max(levels):.4g}) or less; where a row is one "
                "person, design each column for its share of the whole level",
                RepeatWarning,
            )
        return self

    def _validated(self, X: Any, *, reset: bool) -> Any:
        finite = True if self.missing == "error" else "allow-nan"
        return validate_data(self, X, dtype=None, reset=reset, ensure_all_finite=finite)

    def _columns(self, X: Any, checked: NDArray[Any]) -> list[Any]:
        """The columns of a frame, of the types that they have there, or of an array."""
        if not hasattr(X, "columns"):
            return list(checked.T)
        return list(next(iter(open_table(X).parts(list(X.columns)))))

    @property
    def _names(self) -> list[Any]:
        """Names of the columns, or their positions where the table has none."""
        names = getattr(self, "feature_names_in_", None)
        return list(range(self.n_features_in_)) if names is None else names.tolist()

    def _source(self) -> Any:
        """The seed or generator that ``random_state`` stands for."""
        state = self.random_state
        if isinstance(state, np.random.RandomState):
            return np.random.default_rng(state.randint(2**31))
        return int(state) if isinstance(state, (int, np.integer)) else state

    def transform(self, X: Any) -> Any:
        """Reports for every value, an array like ``X``; after :meth:`set_output` a frame, whose
        columns have the dtypes of those of ``X`` and carry their receipts.
        """
        check_is_fitted(self)
        given, X = X, self._validated(X, reset=False)
        # Every column is checked before the first report is drawn, with words that go on from those
        # of the table before.
        columns = self._columns(given, X)
        codes = [
            part.coding.codes(lambda _, own=own: own)  # type: ignore[misc]
            for part, own in zip(self._parts, columns, strict=True)
        ]
        container = _get_output_config("transform", self)["dense"]
        if container != "default" and hasattr(given, "columns"):
            import narwhals.stable.v1 as nw

            for part in self._parts:
                given = adapter_of(given)(given, Release([part], part.coding.policy))
            return getattr(nw.from_native(given, eager_only=True), f"to_{container}")()
        columns = [
            _reported(part.kernel.outputs, part.draw(found, part.words, Fingerprinter()), X.dtype)
            for part, found in zip(self._parts, codes, strict=True)
        ]
        out = np.empty(X.shape, dtype=np.result_type(X.dtype, *columns))
        for j, column in enumerate(columns):
            out[:, j] = column
        return out

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = self.missing != "error"
        tags.non_deterministic = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _refuse_missing(X: NDArray[Any], names: list[Any]) -> None:
    """Raise :class:`DataError` for missing values, with the policies that a transformer has."""
    for name, column in zip(names, X.T, strict=True):
        blank = sum(map(is_missing, column.tolist()))
        if blank:
            raise DataError(
                f"column {name!r}",
                expected="no missing values",
                got=f"{blank} in {counted(len(column), 'row')}",
                remedy="fill them in, or choose missing='keep' or 'replace'",
            )


def _reported(outputs: Sequence[Any], drawn: NDArray[np.int64], dtype: Any) -> NDArray[Any]:
    """Labels of outputs, null where there is none: NaN among numbers, else ``None``."""
    labels = _labels(outputs, dtype)
    absent = drawn == ABSENT
    if not absent.any():
        return np.asarray(labels[drawn])
    numbers = labels.dtype.kind == "f" or (labels.dtype.kind in "iu" and dtype.kind == "f")
    found = labels.astype(float if numbers else object)[drawn]
    found[absent] = np.nan if numbers else None
    return np.asarray(found)


def _labels(outputs: Sequence[Any], dtype: Any) -> NDArray[Any]:
    """Output labels of the dtype where they fit it, else of their own, else as objects."""
    outputs = list(outputs)
    objects = np.empty(len(outputs), dtype=object)
    objects[:] = outputs
    if dtype.kind == "O" or any(isinstance(v, tuple) for v in outputs):
        return objects
    plain = np.array(outputs)
    if plain.dtype.kind == "U" or len({type(v) for v in outputs}) > 1:
        return objects
    fitting = plain.astype(dtype)
    return fitting if (fitting == plain).all() else plain
