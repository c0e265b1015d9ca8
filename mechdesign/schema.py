"""Attributes of an alphabet: which columns of a table its symbols are made of, by name.

A symbol of one column is its value, one of several columns the tuple of their values, in the order
of the names. Where a column holds numbers that become labels, its bins say how.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from .errors import InputError, UnknownNameError, is_iterable, quote
from .labels import Label


@dataclass(frozen=True)
class Schema:
    """Names of the attributes of an alphabet, and for each its bins, if any.

    Parameters
    ----------
    names : different texts, at least one
    bins : for each name the bins that make labels of its numbers, or ``None``; none when left out
    places : what makes labels of points, where the names are those of latitudes and longitudes

    Raises
    ------
    InputError
        For names that are no different texts, and for another number of bins.

    Examples
    --------
    >>> pair = Schema(("class", "sex"))
    >>> pair.part(("crew", "female"), "sex"), len(pair)
    ('female', 2)
    """

    names: tuple[str, ...]
    bins: tuple[Any, ...] = ()
    places: Any = None

    def __post_init__(self) -> None:
        names = self.names
        if isinstance(names, (str, bytes)) or not is_iterable(names):
            raise _unusable("a list of column names", quote(names))
        names = tuple(names)
        strange = [name for name in names if not isinstance(name, str)]
        if not names or strange:
            raise _unusable("column names that are text", quote(strange[0]) if names else "none")
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise _unusable("different column names", f"{quote(twice)} more than once")
        bins = tuple(self.bins) or (None,) * len(names)
        if len(bins) != len(names):
            raise _unusable(f"bins, or None, for each of {len(names)} columns", str(len(bins)))
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "bins", bins)
        if self.places is not None and (len(names) != 2 or any(bins)):
            raise _unusable("two columns, of latitudes and longitudes, for places", str(len(names)))

    @classmethod
    def of(cls, what: Any) -> Schema:
        """A schema from itself, a column name, several of them, or a mapping of names to bins."""
        if isinstance(what, Schema):
            return what
        if isinstance(what, str):
            return cls((what,))
        if isinstance(what, Mapping):
            return cls(tuple(what), tuple(what.values()))
        return cls(what)

    def __len__(self) -> int:
        return len(self.names)

    def position(self, name: Any) -> int:
        """Position of an attribute; raises :class:`UnknownNameError` for another name."""
        if not isinstance(name, str) or name not in self.names:
            raise UnknownNameError("attribute", name, self.names)
        return self.names.index(name)

    def bins_of(self, name: Any) -> Any:
        """The bins of an attribute, or ``None``."""
        return self.bins[self.position(name)]

    def part(self, label: Label, name: Any) -> Label:
        """The value of an attribute in a label."""
        place = self.position(name)
        return label if len(self) == 1 else label[place]

    def parts(self, label: Label, names: Sequence[Any]) -> Label:
        """The value of an attribute in a label; of several a tuple, in the order of the names."""
        if len(names) == 1:
            return self.part(label, names[0])
        return tuple(self.part(label, name) for name in names)

    def restricted(self, names: Sequence[Any]) -> Schema:
        """The schema of some attributes, in the order given."""
        places = [self.position(name) for name in names]
        return Schema(tuple(names), tuple(self.bins[place] for place in places))

    def joined(self, other: Schema) -> Schema | None:
        """The schema of pairs of single columns; ``None`` for names that clash or for tuples."""
        if len(self) > 1 or len(other) > 1 or self.names == other.names:
            return None
        return Schema(self.names + other.names, self.bins + other.bins)

    def check(self, labels: Iterable[Label], error: type[InputError] = InputError) -> None:
        """Raise an error unless every label has a part for each attribute."""
        if len(self) == 1:
            return
        known = None if self.places is None else set(self.places.labels)
        for label in labels:
            if known is not None and label not in known:
                raise error(
                    "symbols of places",
                    expected="coordinates of its places",
                    got=quote(label),
                    remedy="make the prior by the places: places.prior(visits)",
                )
            if not isinstance(label, tuple) or len(label) != len(self):
                raise error(
                    f"symbols of the columns {', '.join(map(quote, self.names))}",
                    expected=f"tuples of {len(self)} values, one for each column",
                    got=quote(label),
                    remedy="give every symbol a tuple such as ('a', 'b'), or name one column",
                )

    def to_json(self) -> list[dict[str, Any]]:
        """Plain values: an object with a name, and with bins where there are some, for each.

        The first one holds the places, if any.
        """
        found = [
            {"name": name, **({} if bins is None else {"bins": bins.to_json()})}
            for name, bins in zip(self.names, self.bins, strict=True)
        ]
        if self.places is not None:
            found[0]["places"] = self.places.to_json()
        return found

    @classmethod
    def from_json(cls, content: Any) -> Schema:
        """The inverse of :meth:`to_json`; raises as a damaged file does."""
        if not isinstance(content, list):
            raise TypeError("attributes are no list")
        return cls(
            tuple(part["name"] for part in content),
            tuple(_bins_in(part["bins"]) if "bins" in part else None for part in content),
            _places_in(content[0]["places"]) if content and "places" in content[0] else None,
        )


def attribute_names(what: Any) -> tuple[str, ...] | None:
    """The attributes that a text or a list of texts names; ``None`` for anything else.

    >>> attribute_names("sex"), attribute_names(["class", "sex"]), attribute_names({"a": 1})
    (('sex',), ('class', 'sex'), None)
    """
    if isinstance(what, str):
        return (what,)
    if isinstance(what, (list, tuple)) and what and all(isinstance(name, str) for name in what):
        return tuple(what)
    return None


def attribute_values(
    names: Sequence[str],
    schema: Schema | None,
    labels: Iterable[Label],
    error: type[InputError] = InputError,
) -> list[Label]:
    """The value of an attribute in each label, or the tuple of those of several.

    Raises ``error`` where no columns are named, :class:`UnknownNameError` for other names.
    """
    if schema is None:
        raise error(
            f"attribute {', '.join(map(quote, names))}",
            expected="a prior or kernel whose columns are named",
            got="one without names",
            remedy="make the prior by Prior.from_data(table, ['class', 'sex']), or name its "
            "columns: prior.with_schema(['class', 'sex'])",
        )
    return [schema.parts(label, names) for label in labels]


def _bins_in(content: Any) -> Any:
    return import_module("._bins", __package__).Bins.from_json(content)


def _places_in(content: Any) -> Any:
    return import_module(".place_sets", __package__).PlaceSet.from_json(content)


def _unusable(expected: str, got: str) -> InputError:
    return InputError(
        "columns of a schema",
        expected=expected,
        got=got,
        remedy="name each column once, such as ['class', 'sex']",
    )
