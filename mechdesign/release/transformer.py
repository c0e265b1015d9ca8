"""A scikit-learn transformer that privatises columns. Needs scikit-learn: ``mechdesign[sklearn]``.

It is not loaded with the package; import it from here:

>>> from mechdesign.release.transformer import Privatizer
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, InputError, MechdesignError
from ..labels import tidy
from ..mechanism import Mechanism
from ..prior import Prior
from ..privacy import LDP
from ..solve.designing import design
from ..utility import Hamming
from .alias import AliasTable
from .encoding import ABSENT, Codebook
from .entropy import words_from
from .sampler import mechanism_of

try:
    from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError:
    raise MechdesignError(
        "the transformer needs scikit-learn 1.6 or newer, which is not installed; "
        "pip install 'mechdesign[sklearn]'."
    ) from None


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
        operating system.

    Attributes
    ----------
    mechanisms_ : one per column
    designs_ : the designs of the columns, where they were designed here

    Raises
    ------
    DataError
        When a value is no input of its mechanism, in :meth:`transform`.
    InputError
        For another number of mechanisms than columns, in :meth:`fit`.

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
    ) -> None:
        self.mechanism = mechanism
        self.privacy = privacy
        self.utility = utility
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Privatizer:
        """Design a mechanism for each column, or check those that were given."""
        X = validate_data(self, X, dtype=None, reset=True)
        width = X.shape[1]
        self.designs_: list[Any] = []
        if self.mechanism is None:
            goal, privacy = self.utility or Hamming(), self.privacy or LDP(1.0)
            priors = [Prior.from_data(X[:, j]) for j in range(width)]
            self.designs_ = [design(prior, goal, privacy) for prior in priors]
            self.mechanisms_ = [found.mechanism for found in self.designs_]
        else:
            given = self.mechanism if isinstance(self.mechanism, list) else [self.mechanism]
            given = given * width if len(given) == 1 else given
            if len(given) != width:
                raise InputError(
                    "mechanisms of a Privatizer",
                    expected=f"one, or one for each of {width} columns",
                    got=str(len(given)),
                    remedy="pass a list in the order of the columns",
                )
            self.mechanisms_ = [mechanism_of(item) for item in given]
        self._tables = [AliasTable(mechanism) for mechanism in self.mechanisms_]
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """Reports for every value, an array like ``X``."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=None, reset=False)
        columns = [
            self._column(X[:, j], j, mechanism) for j, mechanism in enumerate(self.mechanisms_)
        ]
        out = np.empty(X.shape, dtype=np.result_type(X.dtype, *columns))
        for j, column in enumerate(columns):
            out[:, j] = column
        return out

    def _column(self, values: NDArray[Any], j: int, mechanism: Mechanism) -> NDArray[Any]:
        book = Codebook(mechanism.inputs, "inputs of the mechanism")
        symbols, codes = _unique(values)
        places = book.places(symbols)
        strangers = [v for v, place in zip(symbols, places, strict=True) if place == ABSENT]
        if strangers:
            raise book.refuse(
                f"column {j}", strangers, "correct them, or fit on data that holds every value"
            )
        state = self.random_state
        rng = int(state) if isinstance(state, (int, np.integer)) else state
        if isinstance(rng, np.random.RandomState):
            rng = np.random.default_rng(rng.randint(2**31))
        drawn = self._tables[j].draw(places[codes], words_from(rng, f"column {j}"))
        labels = _labels(mechanism, values.dtype)
        return np.asarray(labels[drawn])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.non_deterministic = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _unique(values: NDArray[Any]) -> tuple[list[Any], NDArray[np.intp]]:
    if values.dtype != object:
        symbols, codes = np.unique(values, return_inverse=True)
        return [tidy(v) for v in symbols], codes
    found: dict[Any, int] = {}
    try:
        codes = np.array([found.setdefault(tidy(v), len(found)) for v in values], dtype=np.intp)
    except TypeError:
        raise DataError(
            "column",
            expected="values such as text or numbers",
            got="values that are not hashable",
            remedy="select columns that hold one value per row",
        ) from None
    return list(found), codes


def _labels(mechanism: Mechanism, dtype: Any) -> NDArray[Any]:
    """Output labels of the dtype where they fit it, else of their own, else as objects."""
    outputs = list(mechanism.outputs)
    objects = np.empty(len(outputs), dtype=object)
    objects[:] = outputs
    if dtype.kind == "O" or any(isinstance(v, tuple) for v in outputs):
        return objects
    plain = np.array(outputs)
    if plain.dtype.kind == "U" or len({type(v) for v in outputs}) > 1:
        return objects
    fitting = plain.astype(dtype)
    return fitting if (fitting == plain).all() else plain
