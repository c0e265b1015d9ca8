"""Saved files as a forger would write them: honest ones, changed over their whole schema.

A forgery starts from an honest file, gets one or two changes anywhere in it, some of them aimed at
what a checker may forget to compare, and then claims, a digest and a fingerprint that fit, written
here from ``FORMAT.md`` alone: only what a file means can speak against it.
"""

from __future__ import annotations

import contextlib
import copy
import datetime as dt
import functools
import hashlib
import json
import math
import random
import struct
import warnings
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from naive_estimates import exact_risk
from verify_cases import (
    CUT,
    FIVE,
    HAMMING,
    IMPOSSIBLE,
    LINEAR,
    PARTLY,
    REQUIRED,
    WORST,
    designed,
    impossible,
    required,
)

import mechdesign as md

File = dict[str, Any]
Path_ = tuple[Any, ...]


# Digest and fingerprint, from the description of the format


def label(word: Any) -> Any:
    if isinstance(word, dict):
        return tuple(map(label, word["tuple"])) if "tuple" in word else typed(word)
    return word


def typed(word: Any) -> Any:
    """A value that is written with its type."""
    ((kind, text),) = word.items()
    plain = {"float": float, "fraction": Fraction, "decimal": Decimal, "bytes": bytes.fromhex}
    plain |= {"ln": Told.logarithm, "bits": lambda bits: Told(f"{Fraction(bits)} bits")}
    dated = {"date": dt.date, "timestamp": dt.datetime, "time": dt.time}
    return plain[kind](text) if kind in plain else dated[kind].fromisoformat(text)


class Told(str):
    """A level that is a logarithm, as a fingerprint names it."""

    @classmethod
    def logarithm(cls, text: str) -> Told:
        value = Fraction(text)
        return cls(f"ln {value}" if value.denominator == 1 else f"ln({value})")

    def __repr__(self) -> str:
        return str(self)


def number(word: Any) -> Any:
    """A parameter: lists are tuples."""
    if isinstance(word, dict):
        return word["text"] if "text" in word else typed(word)
    if isinstance(word, list):
        return tuple(map(number, word))
    return math.inf if word == "inf" else word


def whole(word: Any) -> int:
    """An integer of any length."""
    return int(Decimal(word)) if isinstance(word, str) and word.strip("-").isdigit() else int(word)


def denominator(kernel: File) -> int:
    """What the weights of a kernel are over."""
    bits = kernel.get("denominator_bits")
    return whole(kernel["denominator"]) if bits is None else 1 << int(bits)


def _shown(value: Any) -> str:
    return f"({','.join(map(_shown, value))})" if isinstance(value, tuple) else repr(value)


def _named(parts: list[Any], write: Callable[[Any], str]) -> list[list[str]]:
    return [
        [p["name"], *(write((k, number(p["parameters"][k]))) for k in sorted(p["parameters"]))]
        for p in parts
    ]


def digest(content: File) -> str:
    kept = {key: content[key] for key in content if key != "digest"}
    text = json.dumps(kept, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def fingerprint(content: File) -> str:
    """Of a design, or of a public file."""
    kernel = content["mechanism"]
    one, rows = denominator(kernel), [list(map(whole, r)) for r in kernel["weights"]]
    bits = one.bit_length() - 1
    sides = [[repr(label(v)) for v in kernel[side]] for side in ("inputs", "outputs")]
    if content["kind"] == "public":
        common = math.gcd(one, *(w for row in rows for w in row))
        over = one // common
        power = over.bit_length() - 1
        told = power if over == 1 << power else str(Decimal(over))
        found = hashlib.sha256(json.dumps([*sides, told]).encode())
        for row in rows:
            found.update((",".join(str(Decimal(w // common)) for w in row) + ";").encode())
        told = [*_named(content["notions"], repr), *content.get("stated", [])]
        return hashlib.sha256(json.dumps([found.hexdigest(), told]).encode()).hexdigest()
    masses = list(map(whole, content["prior"]["weights"]))
    common = math.gcd(*masses)
    names = [repr(label(v)) for v in content["prior"]["labels"]]
    head = [[str(Decimal(w // common)) for w in masses], names, sides[1]]
    head += [_named(content["notions"], _shown), bits]
    if content.get("requirements"):
        head.append(_named(content["requirements"], _shown))
    flat = [w for row in rows for w in row]
    body = (
        struct.pack(f"<{len(flat)}q", *flat)
        if max(flat) < 2**62
        else ",".join(str(Decimal(w)) for w in flat).encode()
    )
    return hashlib.sha256(json.dumps(head).encode() + body).hexdigest()


MALFORMED = (
    ArithmeticError, AttributeError, LookupError, TypeError, ValueError, struct.error,
    RuntimeError,
)  # fmt: skip


def sealed(content: File) -> File:
    """With digest and fingerprint made anew, where the content has a form that gives them; files
    in a plan first.
    """
    content = dict(content)
    try:
        for part in content.get("columns", ()):
            kind = "public" if "public" in part else "design"
            part[kind] = sealed(part[kind])
    except MALFORMED:
        pass
    try:
        own = fingerprint(content)
        if content["kind"] == "public":
            content["fingerprint"] = own
        elif content["kind"] == "design":
            content["certificate"] = {**content["certificate"], "fingerprint": own}
    except MALFORMED:
        pass
    content["digest"] = digest(content)
    return content


# Claims that fit a kernel, whatever is true


def _nearest(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def masses_of(prior: File) -> list[Fraction]:
    weights = list(map(int, prior["weights"]))
    return [Fraction(w, sum(weights)) for w in weights]


def kernel_of(mechanism: File) -> list[list[Fraction]]:
    one = denominator(mechanism)
    return [[Fraction(int(w), one) for w in row] for row in mechanism["weights"]]


def values_of(content: File) -> list[Fraction]:
    """Of each linear function of the utility: its value at the kernel."""
    rows, masses = kernel_of(content["mechanism"]), masses_of(content["prior"])
    utility, found = content["utility"], []

    def of_rows(gains: Any) -> list[Fraction]:
        return [
            sum((Fraction(u) * k for u, k in zip(g, row, strict=True)), Fraction(0))
            for g, row in zip(gains, rows, strict=True)
        ]

    if "gains" in utility:
        return [sum(p * v for p, v in zip(masses, of_rows(utility["gains"]), strict=True))]
    for part in utility["parts"]:
        each, scales = of_rows(part["utility"]["gains"]), masses
        if utility["each"]:
            return [v for p, v in zip(masses, each, strict=True) if p]
        if part["prior"] is not None:
            given = dict(
                zip(map(label, part["prior"]["labels"]), masses_of(part["prior"]), strict=True)
            )
            scales = [given[label(x)] for x in content["prior"]["labels"]]
        weight = Fraction(part["weight"])
        found.append(sum(weight * p * v for p, v in zip(scales, each, strict=True)))
    return found


def claimed_best(content: File) -> File:
    """Claims that its kernel is optimal, whatever its dual variables prove."""
    content = {**content, "certificate": dict(content["certificate"])}
    saved = content["certificate"]
    try:
        if content["utility"].keys() & {"gains", "parts"}:
            value = min(values_of(content))
            saved |= {"value_exact": _text(value), "bound_exact": _text(value)}
            saved |= {"value": _nearest(value), "bound": max(_nearest(value), _up(value))}
            saved["gain_gap"] = 0.0 if saved.get("gain_gap") is not None else None
        elif content["utility"]["weights"] is None and content["utility"]["truth"] != "any":
            value = -_risk(content)
            saved |= {"value": _nearest(value), "bound": _up(value), "bound_exact": _text(value)}
            saved["bound"] = max(saved["bound"], saved["value"])
        else:
            saved |= {"bound": saved["value"], "bound_exact": None}
        saved |= {"gap": 0.0, "optimal": True}
        return content
    except MALFORMED:
        return content


def _risk(content: File) -> Fraction:
    """Of a design for estimates without weights, at one truth or several."""
    utility, n = content["utility"], len(content["prior"]["labels"])
    given = utility["truth"] if isinstance(utility["truth"], list) else [utility["truth"]]
    truths = [masses_of(content["prior"] if one is None else one) for one in given]
    rows = [list(map(whole, row)) for row in content["mechanism"]["weights"]]
    asked = utility["questions"] or [[int(x == z) for z in range(n)] for x in range(n)]
    return max(exact_risk(rows, truth, asked) for truth in truths)


def _text(value: Fraction) -> str:
    return f"{value.numerator}/{value.denominator}" if value.denominator > 1 else f"{value}"


def _up(value: Fraction) -> float:
    near = _nearest(value)
    return near if near >= value else math.nextafter(near, math.inf)


def telling(content: File) -> File:
    """With a kernel that tells every symbol and gains for right guesses, so that what it claims
    needs no dual variables: only a notion or a requirement can speak against it.
    """
    content = copy.deepcopy(content)
    kernel = content["mechanism"]
    n, one = len(kernel["inputs"]), str(denominator(kernel))
    if n > 100:
        raise ValueError(n)
    kernel["outputs"] = copy.deepcopy(kernel["inputs"])
    kernel["weights"] = [[one if x == y else "0" for y in range(n)] for x in range(n)]
    if content["kind"] != "design":
        return content
    content["utility"] = {"name": "hamming", "gains": np.eye(n).tolist()}
    saved = content["certificate"]
    saved |= {"value": 1.0, "value_exact": "1", "bound": 1.0, "bound_exact": "1", "gap": 0.0}
    saved |= {"gain_gap": 0.0, "optimal": True, "bound_source": "disclosure"}
    saved["duals"] = {"prices": None, "multipliers": None}
    saved["achieved"] = [[0.0] * len(row) for row in saved["achieved"]]
    return content


# Honest files


def _made(item: Any) -> File:
    return json.loads(json.dumps(md.storage.to_json(item)))


def _estimates(notion: Any, prior: md.Prior = FIVE, wishes: Any = (), **asked: Any) -> Any:
    return lambda: designed_for(prior, md.utility.Estimation(**asked), notion, list(wishes))


def designed_for(prior: md.Prior, utility: Any, notion: Any, wishes: list[Any]) -> Any:
    return md.design(prior, utility, notion, subject_to=wishes)


FOUR = md.Prior([0.4, 0.3, 0.2, 0.1])
PAIRED = md.Prior([0.5, 0.3, 0.2], [("a", 0), ("b", 1), ("b", 0)]).with_schema(["x", "y"])
UNIFORM = md.Prior([0.2] * 5, labels=list("abcde"))
BINS = md.bins(edges=[0, 18, 65, 120], whole=True)
AGES = md.Prior.from_counts({x: i for i, x in enumerate(BINS.labels, 1)}).with_schema({"x": BINS})
SEX = md.Prior(
    [0.1, 0.2, 0.3, 0.4], labels=[("a", "f"), ("a", "m"), ("b", "f"), ("b", "m")]
).with_schema(["class", "sex"])


def _public(*asked: Any) -> Any:
    found = designed(*asked)
    return md.PublicDesign.of(found.mechanism, found.notions)


def _public_groups(counts: Any, notion: Any) -> Any:
    return md.storage.public_form(md.subset_selection(md.Prior.from_counts(counts), notion))


def _public_plan(notion: Any) -> Any:
    plan = md.plan_columns(PAIRED, None, notion, joint=False)
    told = [md.PublicDesign.of(d.mechanism, d.notions) for d in plan.designs]
    return md.PublicPlan.of(plan.names, told, plan.total)


E = md.utility.Estimation
THIRDS = md.Mechanism([[Fraction(2, 3), Fraction(1, 3)], [Fraction(1, 3), Fraction(2, 3)]])
#: What makes an honest file, by name; those of one kind exchange their parts.
MAKERS: dict[str, Callable[[], Any]] = {
    **{name: functools.partial(designed, *asked) for name, asked in LINEAR.items()},
    **{name: functools.partial(required, name) for name in (*REQUIRED, *WORST)},
    **{name: functools.partial(impossible, name) for name in IMPOSSIBLE},
    **{name: functools.partial(designed, *asked) for name, (asked, _) in PARTLY.items()},
    "estimates": _estimates(md.LDP(0.5), FOUR),
    "estimates of five": _estimates(md.LDP(1)),
    "estimates, lift": _estimates(md.PML(1), FOUR),
    "estimates, cost": _estimates(md.PMC(0.7), FOUR),
    "estimates, both": _estimates([md.LIP(0.6), md.LDP(1)], FOUR),
    "estimates, another truth": _estimates(md.LDP(1), truth=UNIFORM),
    "estimates, several truths": _estimates(md.LDP(1), truth=[FIVE, UNIFORM]),
    "estimates, any truth": _estimates(md.PML(1), FOUR, truth="any"),
    "estimates, weights": _estimates(md.PML(1), FOUR, weights=[1, 2, 3, 4]),
    "estimates, a matrix": _estimates(md.LDP(1), FOUR, weights=np.eye(4) + 0.3 * np.eye(4)[::-1]),
    "estimates, questions": _estimates(md.PML(0.8), FOUR, of=[[1, 0, 2, 0], [0, 1, 1, 0]]),
    "estimates, two symbols": _estimates(md.PML(1), md.Prior([0.6, 0.4])),
    "estimates, neighbours": _estimates(md.DP(1, "adjacent"), FOUR),
    "estimates, one symbol": _estimates(md.LDP(1), md.Prior([1.0], ["a"])),
    **{
        f"estimates, {name}": functools.partial(designed_for, FIVE, E(), notion, wishes)
        for name, (notion, wishes, _) in CUT.items()
        if name in ("a ratio", "ends of a lift", "a choice", "two cuts")
    },
    "one symbol": functools.partial(designed, md.Prior([1.0], ["a"]), HAMMING, md.LDP(1)),
    "two symbols": functools.partial(designed, md.Prior([0.5, 0.5]), HAMMING, md.PML(1)),
    "bins": functools.partial(designed, AGES, HAMMING, md.MetricPrivacy(0.04, "absolute")),
    "bins of neighbours": functools.partial(designed, AGES, HAMMING, md.DP(1, "adjacent")),
    "a column of two": functools.partial(designed, SEX, HAMMING, md.FeaturePML(0.3, "sex")),
    "mechanism": lambda: designed(*LINEAR["ldp"]).mechanism,
    "mechanism of floats": lambda: md.Mechanism([[0.1, 0.9], [0.3, 0.7]]),
    "mechanism of thirds": lambda: THIRDS,
    "public, thirds": lambda: md.PublicDesign.of(THIRDS, [md.LDP(md.ratio(2))]),
    **{
        f"public, {name}": functools.partial(_public, *LINEAR[name])
        for name in (
            "ldp", "listed neighbours", "matrix", "graph", "one way", "sensitive", "approximate",
            "pml", "discriminative", "hamming",
        )
    },
    "public, bins": lambda: _public(AGES, HAMMING, md.DP(1, "adjacent")),
    "public, estimates": lambda: md.PublicDesign.of(
        md.design(FOUR, E(), md.LDP(1)).mechanism, [md.LDP(1)]
    ),
    "selection of placements": lambda: md.subset_selection(7, md.LDP(1)),
    "selection": lambda: md.subset_selection(9, md.LIP(0.5)),
    "selection, lift": lambda: md.subset_selection(4, md.PML(1)),
    "selection of ten": lambda: md.subset_selection(10, md.LDP(0.7)),
    "groups": lambda: md.subset_selection(md.Prior.from_counts([3, 1, 1, 1]), md.LDP(1)),
    "groups, lift": lambda: md.subset_selection(md.Prior.from_counts([5, 5, 1, 1, 1]), md.PML(1)),
    "groups of names": lambda: md.subset_selection({"a": 3, "b": 1, "c": 1, "d": 1}, md.LDP(1)),
    "public groups": lambda: _public_groups({"a": 3, "b": 1, "c": 1, "d": 1}, md.LDP(1)),
    "public groups, lift": lambda: _public_groups({0: 5, 1: 1, 2: 1, 3: 1}, md.PML(1)),
    "plan": lambda: md.plan_columns(PAIRED, None, md.LDP(1.5), joint=False),
    "plan, lift": lambda: md.plan_columns(PAIRED, None, md.PML(1), joint=False),
    "public plan": lambda: _public_plan(md.LDP(1.5)),
}  # fmt: skip


@functools.cache
def _honest(name: str) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return json.dumps(md.storage.to_json(MAKERS[name]()))


def honest(name: str) -> File:
    """A file as the library writes it, made once."""
    return json.loads(_honest(name))


# Changes anywhere in a file


def places(part: Any, path: Path_ = ()) -> Iterator[Path_]:
    """Where something stands, and its parts."""
    if path:
        yield path
    items = (
        part.items()
        if isinstance(part, dict)
        else enumerate(part)
        if isinstance(part, list)
        else ()
    )
    for key, value in items:
        yield from places(value, (*path, key))


def shape(path: Path_) -> Path_:
    """The path with no positions in it: what is alike in a schema."""
    return tuple("*" if isinstance(key, int) else key for key in path)


def at(content: Any, path: Path_) -> Any:
    for key in path:
        content = content[key]
    return content


def put(content: Any, path: Path_, value: Any) -> None:
    at(content, path[:-1])[path[-1]] = value


WILD = (
    None, True, False, 0, 1, -1, 1.0, 0.5, -1e6, 1e6, 1e300, 5e-324, 1e-300, 10**30, "", "inf", "x",
    "0", "1", "1/2", "-1", "any", [], {}, [[]], [0], [None], {"text": ""}, {"text": 1.0},
    {"fraction": "1/2"}, {"fraction": "-1/2"}, {"float": "inf"}, {"tuple": []}, "9" * 5000,
    {"date": "2020-01-31"}, {"date": "2020-02-30"}, {"decimal": "1E+999999999"}, {"bytes": "00"},
)  # fmt: skip
NAMES = (
    "ways", "epsilon", "epsilon_l", "epsilon_u", "delta", "extra", "scale", "self", "priors",
    "pairs", "labels", "neighbours", "report", "tolerance", "attributes", "placements", "stated",
    "requirements", "offset", "power", "mixture", "limits", "averages", "branches", "inverse",
)  # fmt: skip


def changed_number(value: Any, rng: random.Random) -> Any:
    if rng.random() < 0.3:
        return rng.choice((
            lambda: str(value), lambda: [value], lambda: {"text": value}, lambda: bool(value),
            lambda: int(value) if isinstance(value, float) else float(value), lambda: 10**400,
            lambda: {"fraction": str(Fraction(value))}, lambda: str(Fraction(value)),
            lambda: "inf",
        ))()  # fmt: skip
    return rng.choice((
        lambda: -value, lambda: value * 2, lambda: value * 1e6, lambda: value * -1,
        lambda: value * 1e-300, lambda: value / 2, lambda: value + 1, lambda: value - 1,
        lambda: math.nextafter(value, math.inf), lambda: math.nextafter(value, -math.inf),
        lambda: value * (1 + 1e-9), lambda: value * (1 - 1e-9), lambda: value * 0.9,
        lambda: 0, lambda: 0.0, lambda: -0.0, lambda: 1e308, lambda: -1e308, lambda: 5e-324,
    ))()  # fmt: skip


def changed_text(value: str, rng: random.Random) -> Any:
    if value.lstrip("-").isdigit():
        number_ = int(value) if len(value) < 4000 else 7
        if rng.random() < 0.3:
            return rng.choice((
                number_, f"0{value}", f"+{value}", f" {value}", f"{value}/1", float(number_),
                [value], str(-number_),
            ))  # fmt: skip
        return rng.choice((
            str(2 * number_), str(number_ + 1), str(number_ - 1), "0", value + "0" * 50,
            "9" * 5000, str(10**18), str(-number_ // 2), str(number_ * 3 // 2),
        ))  # fmt: skip
    return rng.choice((
        lambda: value + "x", lambda: value[:-1], lambda: value[::-1], lambda: value.upper(),
        lambda: [value], lambda: {"text": value}, lambda: "", lambda: list(value),
        lambda: {"tuple": [value]}, lambda: "/".join(value.split("/")[::-1]), lambda: f"-{value}",
    ))()  # fmt: skip


def changed_list(value: list[Any], rng: random.Random) -> Any:
    """Longer, shorter, doubled, permuted, or of another type."""
    some = copy.deepcopy(rng.choice(value)) if value else 0
    place = rng.randrange(len(value) + 1)
    extra = rng.choice((
        some, some, -1e6, 1e6, 1e300, 0, "0", "x", [], None, changed(some, rng), [some, some],
    ))  # fmt: skip
    order = rng.sample(range(len(value)), len(value))
    doubled = [x for x in value for _ in (0, 1)]
    return rng.choice((
        [], value + copy.deepcopy(value), doubled, [*value, extra], [*value, extra],
        [*value[:place], extra, *value[place:]], value[:-1], value[1:], value[::-1],
        [value[i] for i in order], [value], {"text": value}, {"tuple": value},
        {str(i): v for i, v in enumerate(value)},
        "".join(map(str, value)), [*value[:1], *value], [some] * len(value), value[:1],
        [list(v) if isinstance(v, str) else v for v in value], [changed(v, rng) for v in value],
    ))  # fmt: skip


def changed_object(value: dict[str, Any], rng: random.Random) -> Any:
    key = rng.choice(sorted(value)) if value else "x"
    new = rng.choice(NAMES)
    return rng.choice((
        {}, list(value), list(map(list, value.items())), {**value, new: rng.choice(WILD)},
        {**value, new: copy.deepcopy(value.get(key))}, [value],
        {**value, key: changed(value.get(key), rng)},
        {k: v for k, v in value.items() if k != key}, {k.upper(): v for k, v in value.items()},
        {**{k: v for k, v in value.items() if k != key}, new: value.get(key)},
    ))  # fmt: skip


def nearby(value: Any, rng: random.Random) -> Any:
    """Something else of the same type and length."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return abs(value + rng.choice((-1, 1, 1, 2)))
    if isinstance(value, float):
        factor = rng.choice((2.0, 0.5, 0.9, 1.1, 1 + 1e-9, 1 - 1e-9, -1.0, 1e3, 0.0))
        return rng.choice((value * factor, math.nextafter(value, math.inf), value + 0.1))
    if isinstance(value, str) and value.removeprefix("-").isdigit() and len(value) < 4000:
        return str(rng.choice((int(value) + 1, abs(int(value) - 1), 2 * int(value))))
    if isinstance(value, list) and value:
        order, place = rng.sample(range(len(value)), len(value)), rng.randrange(len(value))
        other = rng.randrange(len(value))
        return rng.choice((
            [value[i] for i in order], value[::-1],
            [copy.deepcopy(value[other]) if i == place else v for i, v in enumerate(value)],
            [nearby(v, rng) if i == place else v for i, v in enumerate(value)],
            [nearby(v, rng) for v in value],
        ))  # fmt: skip
    if isinstance(value, dict) and value:
        key = rng.choice(sorted(value))
        return {**value, key: nearby(value[key], rng)}
    return value


def changed(value: Any, rng: random.Random) -> Any:
    """Something else in its place, often of the same type."""
    value = copy.deepcopy(value)
    if rng.random() < 0.4:
        return nearby(value, rng)
    if rng.random() < 0.1:
        return copy.deepcopy(rng.choice(WILD))
    if isinstance(value, bool) or value is None:
        return rng.choice((not value, 0, 1, "true", [], *WILD))
    try:
        if isinstance(value, (int, float)):
            return changed_number(value, rng)
    except ArithmeticError:
        return -1
    if isinstance(value, str):
        return changed_text(value, rng)
    return (changed_list if isinstance(value, list) else changed_object)(value, rng)


class Forgery(NamedTuple):
    """A file, what it was made from, and how; its bytes, where they say it in another way."""

    base: str
    recipe: tuple[str, ...]
    content: Any
    written: bytes | None = None

    @property
    def data(self) -> bytes:
        return self.written or json.dumps(self.content).encode()


def rewritten(text: str, rng: random.Random) -> tuple[str, bytes]:
    """The same content in bytes that are no such JSON, or another one."""
    key = rng.choice(("epsilon", "weights", "kind", "value", "digest", "notions", "labels"))
    half = len(text) // 2
    name, made = rng.choice((
        ("a name twice", text.replace(f'"{key}":', f'"{key}": 0, "{key}":', 1)),
        ("a name twice", text.replace(f'"{key}":', f'"{key}": [], "{key}":')),
        ("NaN", text.replace("0.0", "NaN", 1)), ("infinity", text.replace("1.0", "Infinity", 1)),
        ("beyond doubles", text.replace("1.0", "1e999", 1)), ("cut off", text[:half]),
        ("a mark before", "\ufeff" + text), ("more behind", text + "{}"), ("two", text * 2),
        ("a comma more", text.replace("]", ",]", 1)), ("a zero before", text.replace("1", "01", 1)),
        ("nested", text[:-1] + ', "more": ' + "[" * 99 + "]" * 99 + "}"),
        ("nested deep", "[" * 99999), ("long number", text.replace("1.0", "1" * 5000, 1)),
        ("exponents", text.replace("0.5", "5E-1").replace("1.0", "1.0e0")),
        ("half a sign", text.replace('"', '"\\ud800', 1)), ("capitals", text.upper()),
        ("spaces", text.replace(",", " ,\n")), ("escapes", text.replace("a", "\\u0061")),
    ))  # fmt: skip
    if rng.random() < 0.1:
        return "not UTF-8", made.encode("utf-16")
    return name, made.encode()


#: Parts of a file that prove nothing are changed less often.
RECORDS = {
    "format", "schema", "version", "digest", "fingerprint", "method", "agreement", "repair",
    "solver", "bound_source", "arithmetic",
}  # fmt: skip


class Forger:
    """Forgeries of honest files, drawn with a seed."""

    def __init__(self, seed: int, names: Any = None) -> None:
        self.rng = random.Random(seed)
        self.names = list(MAKERS if names is None else names)

    def draw(self) -> Forgery:
        """One forgery: aimed or not, with no, one or two changes anywhere."""
        rng = self.rng
        base = rng.choice(self.names)
        content, recipe = honest(base), list[str]()
        aims = AIMS.get(content["kind"], [])
        is_aimed = bool(aims) and rng.random() < 0.6
        for aim in rng.sample(aims, min(len(aims), rng.choice((1, 1, 2)))) if is_aimed else ():
            made = self._aimed(aim, content)
            recipe += [aim.__name__] if made is not content else []
            content = made
        for _ in range(rng.choice((0, 0, 1, 1, 2) if recipe else (1, 1, 2))):
            with contextlib.suppress(MALFORMED):
                recipe.append(self._change(content))
        if content.get("kind") == "design" and rng.random() < 0.4:
            content = self._aimed(lambda c, _: claimed_best(c), content)
            recipe.append("claimed best")
        if rng.random() < 0.95:
            try:  # as it is read
                content = sealed(json.loads(json.dumps(content)))
            except MALFORMED:
                recipe.append("no JSON")
        else:
            recipe.append("not sealed")
        if rng.random() < 0.03:
            name, data = rewritten(json.dumps(content), rng)
            return Forgery(base, (*recipe, name), content, data)
        return Forgery(base, tuple(recipe), content)

    def _aimed(self, aim: Callable[..., File], content: File) -> File:
        try:
            return aim(copy.deepcopy(content), self)
        except MALFORMED:
            return content

    def place(self, content: Any) -> Path_:
        """Some place, every path of the schema as often as any other, records less often."""
        found: dict[Path_, list[Path_]] = {}
        for path in places(content):
            found.setdefault(shape(path), []).append(path)
        shapes = list(found)
        weights = [0.2 if RECORDS & set(path) else 1.0 for path in shapes]
        return self.rng.choice(found[self.rng.choices(shapes, weights)[0]])

    def _change(self, content: Any) -> str:
        rng, path = self.rng, self.place(content)
        parent, kind = at(content, path[:-1]), rng.random()
        told = ".".join(map(str, path))
        if kind < 0.06:
            del parent[path[-1]]
            return f"remove {told}"
        if kind < 0.2:
            other = honest(rng.choice(self.names))
            same = [p for p in places(other) if shape(p) == shape(path)]
            if same:
                parent[path[-1]] = at(other, rng.choice(same))
                return f"exchange {told}"
        if kind < 0.27 and isinstance(parent, list) and len(parent) > 1:
            i = rng.randrange(len(parent))
            parent[path[-1]], parent[i] = parent[i], parent[path[-1]]
            return f"swap {told} with {i}"
        value = changed(parent[path[-1]], rng)
        parent[path[-1]] = value
        twin = ("mechanism", "inputs", *path[2:])
        if path[:2] == ("prior", "labels") and rng.random() < 0.7:
            with contextlib.suppress(MALFORMED):
                put(content, twin, copy.deepcopy(value))
        if path[:2] == ("prior", "attributes") and "mechanism" in content and rng.random() < 0.7:
            content["mechanism"]["attributes"] = copy.deepcopy(content["prior"].get("attributes"))
        if path[:2] == ("prior", "weights") and rng.random() < 0.8:
            self._aimed(with_probabilities, content)
        return f"change {told} to {json.dumps(value)[:60]}"


# Aims: false claims that a hole in a checker would prove


def with_probabilities(content: File, _: Any = None) -> File:
    content["prior"]["probabilities"] = [float(p) for p in masses_of(content["prior"])]
    return content


def _level(content: File, forger: Forger) -> tuple[dict[str, Any], str]:
    rng = forger.rng
    notions = content["notions"] if "notions" in content else [content["total"]]
    given = rng.choice(notions)["parameters"]
    return given, rng.choice([key for key in given if key.startswith("epsilon")])


def larger_level(content: File, forger: Forger) -> File:
    """More is allowed than the dual variables speak of."""
    given, key = _level(content, forger)
    told = {"ln": "9"}, {"ln": "10000001/3"}, {"bits": "17/2"}, {"fraction": "22/7"}
    level = 1.0 if isinstance(given[key], dict) else given[key]
    given[key] = forger.rng.choice((level * 2, level * 6, 3.0, 30.0, "inf", 1e300, *told))
    return content


def smaller_level(content: File, forger: Forger) -> File:
    given, key = _level(content, forger)
    told = {"ln": "1000001/1000000"}, {"bits": "1/7"}, {"fraction": "1/10"}
    level = 1.0 if isinstance(given[key], dict) else given[key]
    given[key] = forger.rng.choice((level * 0.999999, level / 2, 0.0, 5e-324, 1e-9, *told))
    if "certificate" in content and forger.rng.random() < 0.7:
        content["certificate"]["achieved"] = [
            [given[key]] * len(row) for row in content["certificate"]["achieved"]
        ]
    return content


def no_levels(content: File, forger: Forger) -> File:
    """Nothing is kept, and nothing proved of the levels but that."""
    for notion in content["notions"]:
        for key in notion["parameters"]:
            if key.startswith("epsilon"):
                notion["parameters"][key] = "inf"
    return content


def other_kernel(content: File, forger: Forger) -> File:
    """All told, nothing told, or a little of either."""
    rng, part = forger.rng, content["mechanism"]
    one = denominator(part)
    m, share = len(part["outputs"]), rng.choice((one, one >> 1, one >> 10, 1))
    middle, is_telling = rng.randrange(m), rng.random() < 0.6
    for x, row in enumerate(part["weights"]):
        kept = [int(w) * (one - share) // one for w in row]
        kept[x % m if is_telling else middle] += one - sum(kept)
        part["weights"][x] = list(map(str, kept))
    return content


def all_told(content: File, forger: Forger) -> File:
    return telling(content)


def all_told_but_required(content: File, forger: Forger) -> File:
    return telling(no_levels(content, forger))


def other_notion(content: File, forger: Forger) -> File:
    other = honest(forger.rng.choice(forger.names))
    content["notions"] = other.get("notions", content["notions"])
    return content


def other_prior(content: File, forger: Forger) -> File:
    rng, weights = forger.rng, content["prior"]["weights"]
    content["prior"]["weights"] = rng.choice((
        rng.sample(weights, len(weights)), ["1"] * len(weights),
        [str(rng.randrange(9)) for _ in weights],
    ))  # fmt: skip
    return with_probabilities(content)


def _change_in(part: Any, forger: Forger) -> None:
    """Something in a part becomes something else."""
    path = forger.place(part)
    put(part, path, changed(at(part, path), forger.rng))


def other_duals(content: File, forger: Forger) -> File:
    """Dual variables that are lengthened, shortened or scaled, where nothing else is changed."""
    duals = content["certificate"]["duals"] if "certificate" in content else content["duals"]
    for _ in range(forger.rng.choice((1, 1, 2))):
        _change_in(duals, forger)
    return content


def false_bound(content: File, forger: Forger) -> File:
    """A bound that is none, with dual variables of other lengths."""
    rng = forger.rng
    content = rng.choice((larger_level, larger_level, no_requirement, worse_kernel))(
        content, forger
    )
    duals = content["certificate"]["duals"]
    lists = [p for p in places(duals) if isinstance(at(duals, p), list) and at(duals, p)]
    by_shape = {shape(path): path for path in rng.sample(lists, len(lists))}
    path = rng.choice(list(by_shape.values()))
    value = at(duals, path)
    extra = rng.choice((-1e6, 1e6, -1e9, 0.0)) if isinstance(value[0], float) else value[0]
    put(duals, path, rng.choice(([*value, extra], [extra, *value], value[:-1], value * 2)))
    return content


def told_under_other_parameters(content: File, forger: Forger) -> File:
    """All is told under a notion with other parameters, or with more of them."""
    content = telling(content)
    given = forger.rng.choice(content["notions"])["parameters"]
    if forger.rng.random() < 0.3:
        given[forger.rng.choice(NAMES)] = forger.rng.choice(WILD)
        return content
    keys = [key for key in given if not key.startswith("epsilon")] or list(given)
    part = {key: given[key] for key in keys}
    _change_in(part, forger)
    given |= part
    return content


def told_under_other_requirements(content: File, forger: Forger) -> File:
    content = telling(no_levels(content, forger))
    _change_in(forger.rng.choice(content["requirements"])["parameters"], forger)
    return content


def other_truth(content: File, forger: Forger) -> File:
    """Estimates at another truth, with other questions or weights."""
    _change_in({key: content["utility"][key] for key in ("truth", "questions", "weights")}, forger)
    truth, rng = content["utility"]["truth"], forger.rng
    if isinstance(truth, dict) and rng.random() < 0.5:
        truth["labels"], count = [*range(len(truth["labels"]) + 1)], len(truth["labels"])
        truth["weights"] = ["1"] * count + [str(rng.choice((0, 1, 5000)))]
        truth["probabilities"] = [float(p) for p in masses_of(truth)]
    return content


def best(content: File, forger: Forger) -> File:
    return claimed_best(content)


def worse_kernel(content: File, forger: Forger) -> File:
    """A kernel that tells less, claimed to be the best."""
    part, middle = content["mechanism"], 0
    one = denominator(part)
    for x, row in enumerate(part["weights"]):
        kept = [int(w) // 2 for w in row]
        kept[middle] += one - sum(kept)
        part["weights"][x] = list(map(str, kept))
    return claimed_best(content)


def no_requirement(content: File, forger: Forger) -> File:
    """Requirements that the dual variables speak of are left out, or are those of another file."""
    other = honest(forger.rng.choice(forger.names))
    content["requirements"] = forger.rng.choice(([], other.get("requirements", [])))
    content["schema"] = 2
    return content


def other_weights(content: File, forger: Forger) -> File:
    """Other chances of residues or of types."""
    rng, found = forger.rng, []
    for path in places(content):
        if path[-1] in ("high", "middle", "count", "base", "dimension", "symbols") or (
            len(path) > 1 and path[-2] == "chances"
        ):
            found.append(path)
    path = rng.choice(found)
    value = at(content, path)
    new = int(value) + rng.choice((1, -1, 1 << 40, -(1 << 40), 1 << 50))
    put(content, path, str(new) if isinstance(value, str) else new % 50)
    return content


def long_numbers(content: File, forger: Forger) -> File:
    """Of thousands of digits, where the format has such numbers."""
    rng, digits = forger.rng, forger.rng.choice((300, 3000, 20_000))
    long = "".join(rng.choice("123456789") for _ in range(digits))
    texts = [
        path for path in places(content)
        if isinstance(at(content, path), str) and at(content, path).split("/")[0].isdigit()
        and not {"digest", "fingerprint"} & set(path)
    ]  # fmt: skip
    if texts and rng.random() < 0.5:
        for path in rng.sample(texts, min(len(texts), rng.choice((1, 9)))):
            put(content, path, rng.choice((long, f"1/{long}", f"{long}/{long[::-1]}")))
        return content
    if "prior" in content and rng.random() < 0.5:
        n = len(content["prior"]["weights"])
        content["prior"]["weights"] = [long[i:] + str(i) for i in range(n)]
        masses = [whole(w) for w in content["prior"]["weights"]]
        content["prior"]["probabilities"] = [float(Fraction(w, sum(masses))) for w in masses]
        return content
    lists = [p for p in places(content) if "parameters" in p and isinstance(at(content, p), float)]
    put(content, rng.choice(lists), {"fraction": f"1/{long}"})
    return content


def many(content: File, forger: Forger) -> File:
    """Hundreds of what there are few of."""
    rng = forger.rng
    lists = [path for path in places(content) if isinstance(at(content, path), list)]
    by_shape = {shape(path): path for path in rng.sample(lists, len(lists))}
    path = rng.choice(list(by_shape.values()))
    value, count = at(content, path), rng.choice((30, 300, 3000))
    if len(json.dumps(value)) * count < 60_000:
        put(content, path, [copy.deepcopy(v) for _ in range(count) for v in value])
    return content


def in_a_column(content: File, forger: Forger) -> File:
    """An aim at the file of one column of a plan."""
    column = forger.rng.choice(content["columns"])
    kind = "public" if "public" in column else "design"
    column[kind] = forger.rng.choice(AIMS[kind])(column[kind], forger)
    return content


AIMS: dict[str, list[Callable[[File, Forger], File]]] = {
    "design": [
        larger_level, larger_level, smaller_level, no_levels, other_kernel, all_told, all_told,
        all_told_but_required, other_notion, other_prior, other_duals, other_duals, best,
        worse_kernel, no_requirement, *[false_bound] * 6, *[told_under_other_parameters] * 8,
        *[told_under_other_requirements] * 4, other_truth, other_truth, long_numbers, many, many,
    ],
    "infeasible": [
        larger_level, no_levels, other_notion, other_prior, other_duals, no_requirement, many
    ],
    "public": [
        smaller_level, other_kernel, all_told, other_notion, *[told_under_other_parameters] * 5,
        long_numbers, many,
    ],
    "mechanism": [other_kernel, long_numbers, many],
    "subset selection": [smaller_level, *[other_weights] * 3, other_notion, long_numbers, many],
    "grouped selection": [smaller_level, *[other_weights] * 3, other_notion, long_numbers, many],
    "public selection": [smaller_level, *[other_weights] * 3, other_notion, many],
    "plan": [smaller_level, *[in_a_column] * 3, many],
    "public plan": [smaller_level, *[in_a_column] * 3, many],
}  # fmt: skip
