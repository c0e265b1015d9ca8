"""What texts of the command line name: priors, utilities, levels, labels, features."""

from __future__ import annotations

import json
import math
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from .errors import (
    DataError,
    InputError,
    UnknownNameError,
    ZeroMassWarning,
    quote,
)
from .exact import read_fraction
from .files import parse_json, read_json
from .labels import Label, label_text, near_miss, parse_labels
from .mechanism import ImplicitKernel, Mechanism
from .prior import Prior, sampled_prior
from .privacy.notion import LEVEL_WORDS, read_level
from .release.codes import ABSENT, Codebook
from .tables.matrices import read_matrix
from .utility import (
    ChiSquare,
    Distance,
    Estimation,
    Hamming,
    LinearUtility,
    Matrix,
    MutualInformation,
    TotalVariation,
    Utility,
    WorstCase,
)
from .utility.estimation import ANY

#: Linear utilities that a column may follow, as in ``hamming:sex``.
OF_COLUMNS = ("hamming:", "absolute:", "squared:", "discrete:", "distance:")
_PRIOR_REMEDY = 'write for example {"a": 0.5, "b": 0.5}'
#: Levels of one comparison: each is a design.
MOST_LEVELS = 10_000
#: How the least of several utilities begins.
WORST = ("worst:", "worst-symbol:", "worst-refined:", "worst-symbol-refined:")
# Their parts.
_NUMBER = r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
_PART = re.compile(
    rf"(?:(?P<weight>{_NUMBER})\s*\*)?(?P<utility>[^@]+?)(?:@(?P<prior>.+?))?"
    rf"(?:>=\s*(?P<goal>{_NUMBER}))?"
)
#: Sub-convex utilities by name.
_INFORMATIONS: dict[str, type[Utility]] = {
    "mutual-information": MutualInformation,
    "total-variation": TotalVariation,
    "chi-square": ChiSquare,
}


def read_prior(text: str) -> Prior:
    """The prior of a text: ``a=0.5,b=0.3,c=0.2``, JSON or a JSON file, ``uniform:1_000_000``.

    >>> read_prior("uniform:3").labels
    (0, 1, 2)
    """
    kind, _, number = text.partition(":")
    if kind.strip().lower() == "uniform":
        plain = number.strip().replace("_", "")
        if not (plain.isascii() and plain.isdigit() and int(plain[:9]) > 0 and len(plain) < 9):
            raise InputError(
                "--prior",
                expected="uniform: and a number of symbols",
                got=quote(text),
                remedy="write for example uniform:1_000_000",
            )
        return Prior.uniform(int(plain))
    return Prior(*_read_masses(text, "prior", "--prior"))


def read_levels(text: str) -> list[float]:
    """Levels of a text such as ``0.1,0.5,1`` or ``first:last:count``."""
    parts = text.split(":") if ":" in text else text.split(",")
    try:
        if ":" not in text:
            return [read_level(part) for part in parts]
        first, last, count = read_level(parts[0]), read_level(parts[1]), int(parts[2])
        if len(parts) != 3 or count < 1:
            raise ValueError
    except (ValueError, IndexError):
        raise InputError(
            "--levels",
            expected="levels such as 0.1,0.5,1 or first:last:count",
            got=quote(text),
            remedy="write for example 0.1:2:20",
        ) from None
    if count > MOST_LEVELS or not math.isfinite(last - first):
        raise InputError(
            "--levels",
            expected=f"at most {MOST_LEVELS:,} levels between finite ends",
            got=quote(text),
            remedy="write for example 0.1:2:20",
        )
    return [float(level) for level in np.linspace(first, last, count)]


def is_json(text: str) -> bool:
    """Whether a text is meant as JSON itself, an object or a list, and not as the name of a file.

    >>> is_json('{"a": 1, "b": 0}'), is_json("[[1, 0]]"), is_json("[a=1,b=0"), is_json("q.json")
    (True, True, False, False)
    """
    text = text.strip()
    return len(text) > 1 and text[0] + text[-1] in ("{}", "[]")


def _json_content(text: str, what: str, remedy: str, *, exact: bool = False) -> Any:
    """The content of a text that is JSON, or else of the file that it names."""
    if is_json(text):
        return parse_json(text, what, remedy, exact=exact)
    return read_json(text, remedy, exact=exact)


def _read_masses(text: str, what: str, option: str) -> tuple[list[Any], list[Label] | None]:
    """Masses and labels as in ``a=1/3,b=2/3`` or ``1,2``, or from JSON or a file of it; exact."""
    if not is_json(text) and not text.lower().endswith(".json"):
        return _parse_masses(text, option)
    content = _json_content(text, f"{what} {quote(text)}", _PRIOR_REMEDY, exact=True)
    if not isinstance(content, (dict, list)):
        raise DataError(
            f"{what} {text}",
            expected="a JSON object of labels and masses, or a list of masses",
            got=quote(content),
            remedy=_PRIOR_REMEDY,
        )
    masses = list(content.values()) if isinstance(content, dict) else content
    texts = [mass for mass in masses if isinstance(mass, str)]
    known = dict(zip(texts, _exact_numbers(texts, option), strict=True))
    labels = parse_labels(list(content)) if isinstance(content, dict) else None
    return [known[mass] if isinstance(mass, str) else mass for mass in masses], labels


def _parse_masses(text: str, option: str) -> tuple[list[Fraction], list[Label] | None]:
    named = all("=" in part for part in text.split(","))
    labels, numbers = _pairs(text) if named else ([], text.split(","))
    return _exact_numbers(numbers, option), parse_labels(labels) if named else None


def _pairs(text: str) -> tuple[list[str], list[str]]:
    """Names and values of a text such as ``a=1,b=2``; without a name where there is no sign."""
    pairs = [part.rpartition("=") for part in text.split(",")]
    return [key.strip() for key, _, _ in pairs], [value.strip() for _, _, value in pairs]


def _exact_numbers(texts: Iterable[str], option: str) -> list[Fraction]:
    values = []
    for number in texts:
        try:
            values.append(read_fraction(number))
            if values[-1] < 0:
                raise ValueError
        except ValueError:
            raise InputError(
                option,
                expected="finite non-negative numbers such as 0.5 or 1/3, separated by commas",
                got=quote(number),
                remedy="write 0.5,0.3,0.2 or a=0.5,b=0.3,c=0.2",
            ) from None
    return values


def read_utility(text: str, prior: Prior) -> Utility:
    """A utility by name, or from a CSV matrix whose rows are labelled with the symbols."""
    name = text.strip().lower()
    if name.startswith(WORST):
        return read_worst_case(text, prior, read_utility)
    if name in _INFORMATIONS:
        return _INFORMATIONS[name]()
    kind, _, of = text.strip().partition(":")
    if kind.lower() == "hamming":
        return Hamming(_columns_in(of, prior, text))
    if name == "estimation":
        return Estimation()
    short = text.strip()[len("distance:") :] if name.startswith("distance:") else text.strip()
    kind, _, of = short.partition(":")
    if kind.lower() in ("absolute", "abs", "squared", "discrete"):
        return Distance(kind.lower(), _columns_in(of, prior, text))
    if not is_file(text):
        known = ["hamming", "absolute", "squared", *_INFORMATIONS, "estimation"]
        known += ["worst:…", "worst-symbol:…"]
        raise UnknownNameError("utility (or file of gains)", text, known)
    matrix, rows, columns = read_matrix(text)
    place = {label: i for i, label in enumerate(rows)}
    absent = [label for label in prior.labels if label not in place]
    if absent or len(rows) != len(prior):
        cause = near_miss((row for row in rows if row not in set(prior.labels)), prior.labels)
        raise DataError(
            f"utility matrix {text}",
            expected=f"one row for each symbol {list(prior.labels)[:8]}",
            got=f"rows {rows[:8]}",
            remedy="label the rows with the symbols of the prior"
            + (f" ({cause})" if cause else ""),
        )
    return Matrix(matrix[[place[label] for label in prior.labels]], columns)


def _columns_in(text: str, prior: Prior, whole: str) -> list[str] | None:
    """Names of columns of the prior, with + between them; ``None`` where there are none."""
    if not text:
        return None
    names = [part.strip() for part in text.split("+")]
    if prior.schema is None:
        raise InputError(
            f"utility {whole}",
            expected="a prior of named columns, from a table",
            got="one without names",
            remedy="give TABLE with --column, or leave the columns out",
        )
    for name in names:
        prior.schema.position(name)
    return names


def read_estimation(
    prior: Prior, of: str | None, weights: str | None, truth: str | None
) -> Estimation:
    """What is estimated, with which weights, at which distribution; see
    :func:`estimation_arguments`.
    """
    return Estimation(**estimation_arguments(prior, of, weights, truth))


def estimation_arguments(
    prior: Prior, of: str | None, weights: str | None, truth: str | None, *, files: bool = True
) -> dict[str, Any]:
    """The parameters of :class:`Estimation` that texts name, without those that are left out.

    Questions are JSON (an object of symbols and values, a list of such objects or of names of
    columns, or a list of rows of numbers) or a file of it, a text such as ``a=1,b=0``, or names of
    columns of the prior; weights are numbers; the truth is written as a prior, or in counts,
    several with ``;`` between them, ``any`` for every distribution.

    Without ``files`` no text is taken for the name of a file.
    """
    found: dict[str, Any] = {}
    if of is not None:
        found["of"] = _asked_questions(of, prior, files)
    if weights is not None:
        found["weights"] = _numbers(weights, "--of-weights")
    if truth is not None:
        found["truth"] = _asked_truth(truth, prior, files)
    return found


def _asked_questions(of: str, prior: Prior, files: bool) -> Any:
    names = () if prior.schema is None else prior.schema.names
    if of in names:
        return of
    if not is_json(of) and "=" not in of and not (files and of.lower().endswith(".json")):
        columns = [part.strip() for part in of.split(",")]
        if not files and not set(columns) <= set(names):
            raise _no_question(of, prior)
        if prior.schema is not None:
            for name in columns:
                prior.schema.position(name)
            return columns if len(columns) > 1 else columns[0]
    remedy = 'write for example a=1,b=0, or a file with {"a": 1, "b": 0}'
    book = Codebook(prior.labels, "symbols of the prior", texts=True)
    named = _read_questions(of, book, f"--of {of}", remedy, files=files)
    return named if isinstance(named, (dict, list)) else [named]


def _no_question(of: str, prior: Prior) -> InputError:
    labels, schema = prior.labels, prior.schema
    columns = "" if schema is None else f", or columns, of {', '.join(map(quote, schema.names))}"
    some = ",".join(f"{label_text(label)}={int(x == 0)}" for x, label in enumerate(labels[:3]))
    return InputError(
        "--of",
        expected=f"a number for each symbol, such as a=1,b=0{columns}",
        got=quote(of) if of.strip() else "empty text",
        remedy=f"write for example {some}" + (",…" if len(labels) > 3 else ""),
    )


def _asked_truth(text: str, prior: Prior, files: bool) -> Any:
    if text.strip().lower() == ANY:
        return ANY
    if is_json(text) or ";" not in text:
        return _one_truth(text, prior, files)
    parts = text.split(";")
    if any(part.strip().lower() == ANY for part in parts):
        raise InputError(
            "--truth",
            expected=f"several distributions, or {ANY} alone",
            got=quote(text),
            remedy=f"write --truth {ANY}, as the worst of all distributions is the worst of "
            "these, too, or leave it out",
        )
    return [_one_truth(part, prior, files) for part in parts]


def _one_truth(text: str, prior: Prior, files: bool) -> Any:
    """Masses or counts in the order of the prior, or by its labels; a prior from a file."""
    if files and text.lower().endswith(".json"):
        return read_truth(text)
    found = _read_masses(text, "truth", "--truth") if is_json(text) else None
    masses, labels = found or _parse_masses(text, "--truth")
    if labels is None:
        return masses
    # Symbols are matched as those of questions are; others are refused where a design is made.
    book = Codebook(prior.labels, "symbols of the prior", texts=True)
    places = _places([str(label) for label in labels], book)
    named = [
        label if place == ABSENT else prior.labels[place]
        for label, place in zip(labels, places, strict=True)
    ]
    return _by_symbol(named, masses, "--truth")


def _by_symbol(symbols: Sequence[Label], values: Sequence[Any], subject: str) -> dict[Label, Any]:
    """A value for each symbol; raises :class:`InputError` where one has several."""
    found = dict(zip(symbols, values, strict=True))
    if len(found) < len(symbols):
        twice = next(symbol for symbol in symbols if symbols.count(symbol) > 1)
        raise InputError(
            subject,
            expected="one number for each symbol",
            got=f"more than one for {quote(twice)}",
            remedy="give each symbol its number once",
        )
    return found


def _places(texts: Iterable[str], book: Codebook) -> list[int]:
    """Positions of symbols in a codebook; combinations are written as JSON or as they are shown."""
    shown = {label_text(label): x for x, label in enumerate(book.labels)}
    found = ((text, book.place(text)) for text in texts)
    return [shown.get(text, ABSENT) if place == ABSENT else place for text, place in found]


def read_truth(text: str) -> Prior:
    """A distribution, written as a prior or in counts, or from a JSON file.

    What ``mechdesign estimate --json`` wrote stands for its ``shrunk`` distribution.
    """
    if text.lower().endswith(".json"):
        content = read_json(text, _PRIOR_REMEDY)
        shrunk = content.get("shrunk") if isinstance(content, dict) else None
        if isinstance(shrunk, dict):
            try:
                from .storage import prior_from_json

                return prior_from_json(shrunk)
            except (KeyError, TypeError, ValueError) as problem:
                raise DataError(
                    f"truth {text}",
                    expected="what 'mechdesign estimate --json' wrote",
                    got=f"another shrunk distribution ({type(problem).__name__})",
                    remedy="estimate again, or name the distribution",
                ) from None
    return sampled_prior(*_read_masses(text, "truth", "--truth"))


def read_sizes(text: str) -> Any:
    """The size of a population, or of each of its strata: 12000, a=9000,b=3000 or a JSON file.

    >>> read_sizes("12000"), read_sizes("a=9000, b=3000")
    (12000, {'a': 9000, 'b': 3000})
    """
    remedy = 'write for example 12000 or a=9000,b=3000, or a file with {"a": 9000, "b": 3000}'
    if text.lower().endswith(".json"):
        return read_json(text, remedy)
    keys, numbers = _pairs(text)
    try:
        sizes = dict(zip(keys, map(int, numbers), strict=True))
    except ValueError:
        sizes = {}
    if len(sizes) < len(keys) or (len(keys) > 1 and "" in sizes):
        raise InputError(
            "--population", expected="whole numbers", got=quote(text, 60), remedy=remedy
        )
    return sizes.get("", sizes)


def _numbers(text: str, option: str, remedy: str = "write for example 1,1,2") -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(
            option, expected="numbers separated by commas", got=quote(text), remedy=remedy
        ) from None


def read_bounds(text: str, subject: str) -> list[float]:
    """South, west, north and east of a grid of places, such as ``59.29,17.97,59.37,18.15``."""
    return _numbers(text, subject, "write for example 59.29,17.97,59.37,18.15")


def read_cells(text: str, subject: str) -> Any:
    """Rows and columns of a grid: ``6`` for both, or ``4x6``."""
    parts = text.lower().replace("×", "x").split("x")
    if len(parts) > 2 or not all(part.strip().isdecimal() for part in parts):
        raise InputError(
            subject,
            expected="a number of rows and columns",
            got=quote(text),
            remedy="write for example 6 or 4x6",
        )
    numbers = [int(part) for part in parts]
    return numbers[0] if len(numbers) == 1 else tuple(numbers)


def read_nats(text: str, subject: str) -> float:
    """A level, as :func:`read_level` reads it."""
    try:
        return read_level(text)
    except ValueError:
        raise InputError(
            subject,
            expected=LEVEL_WORDS,
            got=quote(text),
            remedy="write for example 0.7 or ln2",
        ) from None


def read_error(text: str, subject: str = "--error") -> float:
    """An error of a frequency, as a number or in percent.

    >>> read_error("0.01"), read_error("0.5 %"), read_error("1%")
    (0.01, 0.005, 0.01)
    """
    part = text.strip()
    try:
        value = read_fraction(part.removesuffix("%").strip())
        error = float(value / 100 if part.endswith("%") else value)
    except (ValueError, OverflowError):
        error = math.nan
    if error < 1:
        return error
    raise InputError(
        subject,
        expected="the half-width of an interval, less than 1",
        got=quote(text),
        remedy=f"write {part}% for per cent"
        if 1 <= error < 100 and "%" not in part
        else "write for example 0.01 or 1%",
    )


def read_worst_case(text: str, prior: Prior, read: Callable[[str, Prior], Utility]) -> WorstCase:
    """The least of several utilities: ``worst:`` and parts joined with ``+``, each of the form
    ``weight*utility@prior>=goal``, of which the utility alone is needed; or ``worst-symbol:`` and
    a utility. With ``-refined`` before the colon the others are raised as well.

    ``read`` reads the utility of each part.

    >>> hamming = read_worst_case("worst:hamming+0.1*absolute>=-2", Prior([.5, .5]), read_utility)
    >>> hamming.spec
    'worst:hamming+0.1*distance:absolute>=-2'
    """
    kind, _, rest = text.strip().partition(":")
    each, refine = kind.lower().startswith("worst-symbol"), kind.lower().endswith("-refined")
    found, weights, goals = [], [], []
    for part in [rest] if each else re.split(r"\+(?=\s*[0-9a-zA-Z./_])", rest):
        match = _PART.fullmatch(part.strip())
        if match is None:
            raise InputError(
                f"utility {text}",
                expected="parts joined with +, such as 0.1*absolute or hamming@0.5,0.5>=0.3",
                got=quote(part),
                remedy="write for example worst:hamming+0.1*absolute, or worst-symbol:hamming",
            )
        utility = read(match["utility"].strip(), prior)
        if not isinstance(utility, LinearUtility):
            raise InputError(
                f"utility {text}",
                expected="linear utilities, such as hamming, absolute or a matrix of gains",
                got=quote(match["utility"]),
                remedy="leave it out",
            )
        use = None
        if match["prior"] is not None:
            use = read_prior(match["prior"].strip())
            use = align_prior(use, prior.labels, named="=" in match["prior"])
        found.append((utility, use))
        weights.append(float(match["weight"] or 1))
        goals.append(None if match["goal"] is None else float(match["goal"]))
    if each:
        if found[0][1] is not None or weights != [1.0] or goals != [None]:
            raise InputError(
                f"utility {text}",
                expected="worst-symbol: and a utility, without weight, prior and goal",
                got=quote(rest),
                remedy="symbols have no prior of use; ask for goals with worst:",
            )
        return WorstCase.symbols(found[0][0], refine=refine)
    return WorstCase(found, weights=weights, goals=goals, refine=refine)


def is_file(path: str) -> bool:
    """Whether a text names something that exists."""
    try:
        return Path(path).exists()
    except (OSError, ValueError):  # a name too long for any file, or none at all
        return False


def read_outputs(text: str | None) -> list[Label] | None:
    """Output labels separated by commas."""
    return None if text is None else parse_labels([part.strip() for part in text.split(",")])


def align_prior(prior: Prior, inputs: tuple[Label, ...], *, named: bool) -> Prior:
    """The prior in the order of the kernel's inputs, matched by label where labels were given."""
    if not named and len(prior) == len(inputs):
        with warnings.catch_warnings():
            # Symbols without mass were named when the prior was read.
            warnings.simplefilter("ignore", ZeroMassWarning)
            return Prior.from_counts(prior.weights, inputs)
    return prior.reordered(inputs) if set(prior.labels) == set(inputs) else prior


def read_symbol(text: str | None, mechanism: Mechanism | ImplicitKernel) -> Label:
    """The input of a mechanism that a text names, or the text itself."""
    if text is None:
        return None
    book = Codebook(mechanism.inputs, "inputs of the mechanism", texts=True)
    place = book.place(text)
    return text if place == ABSENT else book.labels[place]


def read_symbols(
    text: str | None, mechanisms: Sequence[Mechanism | ImplicitKernel]
) -> tuple[Label, ...] | None:
    """An input of each of several mechanisms, from a JSON list."""
    if text is None:
        return None
    remedy = 'write a JSON list with a value for each column, such as ["a", 1]'
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list) or len(found) != len(mechanisms):
        raise InputError(
            "--replacement",
            expected=f"{len(mechanisms)} values in a JSON list",
            got=quote(text),
            remedy=remedy,
        )
    pairs = zip(found, mechanisms, strict=True)
    return tuple(read_symbol(str(value), mechanism) for value, mechanism in pairs)


def read_feature(path: str | None, mechanism: Mechanism | ImplicitKernel) -> Any:
    """What is asked of reports, in the forms that a design takes: a JSON file, a text such as
    ``a=1,b=0``, or the name of a column that the inputs are made of.
    """
    schema = getattr(mechanism, "schema", None)
    if path is None or (schema is not None and path in schema.names):
        return path
    remedy = 'write for example {"a": 1, "b": 0}'
    book = Codebook(mechanism.inputs, "inputs of the mechanism", texts=True)
    found = _read_questions(path, book, f"feature {path}", remedy)
    if not isinstance(found, (dict, list)):
        raise DataError(
            f"feature {path}",
            expected="a JSON object of inputs and values, a list of them, or rows of numbers",
            got=quote(found),
            remedy=remedy,
        )
    return found


def _read_questions(
    text: str, book: Codebook, name: str, remedy: str, *, files: bool = True
) -> Any:
    """Features with the labels of a codebook, or what else JSON or a file of it holds."""
    is_named = files and text.lower().endswith(".json")
    if "=" in text and not is_json(text) and not is_named:
        keys, numbers = _pairs(text)
        content: Any = _by_symbol(keys, _numbers(",".join(numbers), name, remedy), name)
    else:
        content = _json_content(text, name, remedy)

    def matched(feature: dict[str, Any]) -> dict[Label, Any]:
        places = dict(zip(feature, _places(feature, book), strict=True))
        unknown = [key for key, place in places.items() if place == ABSENT]
        if unknown:
            raise book.refuse(name, unknown, "correct the keys")
        symbols = [book.labels[place] for place in places.values()]
        return _by_symbol(symbols, list(feature.values()), name)

    if isinstance(content, list):
        return [matched(one) if isinstance(one, dict) else one for one in content]
    return matched(content) if isinstance(content, dict) else content
