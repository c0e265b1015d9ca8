"""Whatever is handed to a public function: an answer, or one readable line that says why not."""

from __future__ import annotations

import inspect
import math
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
from checks import for_each

import mechdesign as md
from mechdesign import theory
from mechdesign.errors import MechdesignError

MOST = 2100


class Hostile:
    """An object that fails whenever it is asked anything."""

    def __repr__(self):
        raise RuntimeError("no")

    __str__ = __repr__

    def __eq__(self, other):
        raise RuntimeError("no")

    __hash__ = None


class Loud:
    """An object that says more than fits in a line."""

    def __repr__(self):
        return "first line\n\x1b[31msecond line\n" * 400


def arguments():
    """Fresh each time, as some are used up."""
    deep = []
    for _ in range(200):
        deep = [deep]
    return {
        "0-d array": np.array(3.0),
        "0-d text": np.array("a"),
        "eye": np.eye(3),
        "large array": np.ones((40, 40)),
        "3-d array": np.zeros((2, 2, 2)),
        "empty array": np.array([]),
        "object array": np.array([None, "a", [1]], dtype=object),
        "float32": np.float32(0.1),
        "complex": 1j,
        "complex array": np.array([1j, 0.5]),
        "huge": 10**400,
        "huge negative": -(10**400),
        "huger": 10**5000,
        "huge fraction": Fraction(10**5000, 3),
        "huge decimal": Decimal("1e999999"),
        "nan": math.nan,
        "infinity": math.inf,
        "decimal nan": Decimal("nan"),
        "nan list": [math.nan, math.nan],
        "negative": -1,
        "zero": 0,
        "true": True,
        "text": "abc",
        "empty text": "",
        "control text": "\x1b[31m\u202e\n",
        "null text": "a\x00b",
        "long text": "x" * 10_000,
        "bytes": b"\xff\xfe",
        "none": None,
        "nested": [[1, 2], [3]],
        "deep": deep,
        "list of arrays": [np.eye(2), np.eye(2)],
        "long list": list(range(300)),
        "mapping": {"a": [1, 2], 3: None},
        "mapping to nan": {"a": math.nan, "b": 1},
        "set": {1, 2},
        "class": int,
        "function": len,
        "lambda": lambda *_: math.nan,
        "iterator": iter([1, 2]),
        "hostile": Hostile(),
        "hostile list": [Hostile()],
        "loud": Loud(),
        "loud list": [Loud(), Loud()],
        "prior": md.Prior([0.5, 0.5]),
        "mechanism": md.Mechanism([[1.0]]),
        "notion": md.LDP(1),
    }


PRIOR = md.Prior([0.5, 0.3, 0.2], ["a", "b", "c"])
HAMMING = md.utility.Hamming()
FLIP = md.Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"], ["no", "yes"])
DESIGN = md.design(PRIOR, HAMMING, md.LDP(1))
BINS = md.bins(edges=[0, 5, 10])
NUMBERS = md.estimate(
    dict.fromkeys(BINS.labels, 50),
    md.Mechanism(np.eye(2), BINS.labels, BINS.labels).with_schema({"x": BINS}),
)
SURVEY = pa.table(
    {
        "answer": ["no", "no", "yes", "no", "yes"] * 40,
        "weight": [1.0, 2.0, 1.5, 1.0] * 50,
        "region": ["n", "s"] * 100,
        "block": [i // 10 for i in range(200)],
        "sex": ["f", "f", "m", "m", "m", "f", "m", "f"] * 25,
        "cost": [float(i % 7) for i in range(200)],
    }
)

REPORTS = pa.table({"id": list(range(100)), "x": ["no", "yes"] * 50})

# What a call looks like when it is right; each argument in turn is replaced by all of the above.
CALLS = {
    "Prior": (md.Prior, {"probabilities": [0.5, 0.5], "labels": ["a", "b"]}),
    "Prior.from_counts": (md.Prior.from_counts, {"counts": [1, 2], "labels": ["a", "b"]}),
    "Prior.from_data": (
        md.Prior.from_data,
        {"column": ["a", "b"], "missing": "error", "max_symbols": 5},
    ),
    "Prior.from_csv": (
        md.Prior.from_csv,
        {"path": "titanic", "column": "class", "weights": "n", "missing": "drop", "max_symbols": 9},
    ),
    "Prior.from_data of numbers": (
        md.Prior.from_data,
        {"column": [1, 5.5], "missing": "error", "bins": BINS},
    ),
    "Prior.uniform": (md.Prior.uniform, {"symbols": 3}),
    "audit_samples": (
        md.audit_samples,
        {
            "inputs": ["a", "b"] * 10,
            "reports": ["u", "v"] * 10,
            "notions": md.LDP(1),
            "confidence": 0.9,
            "prior": md.Prior([0.5, 0.5], ["a", "b"]),
            "outputs": ["u", "v"],
            "seed": 1,
        },
    ),
    "audit_samples of a mechanism": (
        md.audit_samples,
        {
            "inputs": ["a", "b"],
            "reports": lambda x: x,
            "notions": md.PML(1),
            "calls": 64,
            "batch": False,
        },
    ),
    "audit_samples in groups": (
        md.audit_samples,
        {
            "inputs": ["a", "b"] * 40,
            "reports": [0.5, 1.5] * 40,
            "notions": md.LDP(1),
            "partition": "tree",
        },
    ),
    "write_sample_report": (
        md.write_sample_report,
        {
            "found": md.audit_samples(["a", "b"] * 10, ["u", "v"] * 10, md.LDP(1)),
            "path": "page.html",
            "title": "A page",
        },
    ),
    "bins": (
        md.bins,
        {
            "sample": None,
            "edges": [0, 5, 10],
            "closed": "left",
            "whole": True,
            "labels": ["a", "b"],
        },
    ),
    "bins of a sample": (
        md.bins,
        {"sample": [1, 2, 3, 4], "quantiles": 2, "ends": (0, 9), "origin": "a separate sample"},
    ),
    "bins of equal width": (md.bins, {"sample": [1, 2, 3, 4], "k": 2, "origin": "public"}),
    "Bins.codes": (BINS.codes, {"values": [1, 2.5]}),
    "Estimate.mean": (NUMBERS.mean, {"column": "x", "representatives": [1, 6], "ends": (0, 9)}),
    "Estimate.quantile": (NUMBERS.quantile, {"q": 0.5, "column": "x", "ends": None}),
    "Estimate.histogram": (NUMBERS.histogram, {"column": "x"}),
    "Prior.index": (PRIOR.index, {"label": "a"}),
    "Prior.reordered": (PRIOR.reordered, {"labels": ["c", "a", "b"]}),
    "Mechanism": (
        md.Mechanism,
        {"kernel": [[1.0, 0.0]], "inputs": ["a"], "outputs": ["b", "c"], "normalise": False},
    ),
    "Mechanism.from_weights": (
        md.Mechanism.from_weights,
        {"weights": np.array([[1, 1]]), "bits": 1, "inputs": ["a"], "outputs": ["b", "c"]},
    ),
    "Mechanism.mix": (FLIP.mix, {"other": FLIP, "weight": 0.5}),
    "Mechanism.cascade": (FLIP.cascade, {"channel": FLIP}),
    "Mechanism.product": (FLIP.product, {"other": FLIP}),
    "Mechanism.merge": (FLIP.merge, {"groups": [["no", "yes"]]}),
    "Mechanism.posterior": (FLIP.posterior, {"prior": md.Prior([0.5, 0.5], ["no", "yes"])}),
    "design": (
        md.design,
        {
            "prior": PRIOR,
            "utility": HAMMING,
            "privacy": md.LDP(1),
            "outputs": ["a", "b"],
            "solver": "auto",
            "time_limit": 5,
        },
    ),
    "explain": (
        md.explain,
        {"prior": PRIOR, "utility": HAMMING, "privacy": md.LDP(1), "solver": "auto"},
    ),
    "audit": (
        md.audit,
        {"mechanism": [[0.5, 0.5]] * 3, "prior": [0.5, 0.3, 0.2], "privacy": md.LDP(1)},
    ),
    "certify": (
        md.certify,
        {
            "kernel": np.eye(3),
            "prior": PRIOR,
            "utility": HAMMING,
            "privacy": md.LDP(1),
            "duals": [0.5, 0.3, 0.2],
            "outputs": ["a", "b", "c"],
            "time_limit": 5,
        },
    ),
    "constraints": (
        md.constraints,
        {"kernel": None, "prior": PRIOR, "privacy": md.LDP(1)},
    ),
    "binding": (md.binding, {"design": DESIGN}),
    "compare": (
        md.compare,
        {
            "prior": {"p": PRIOR},
            "utility": HAMMING,
            "notions": [md.PML],
            "levels": [0.5],
            "match": "epsilon",
            "solver": "auto",
            "jobs": 1,
            "resume": None,
        },
    ),
    "sweep": (
        md.sweep,
        {"prior": PRIOR, "utility": HAMMING, "privacies": [md.LDP(1)]},
    ),
    "convert": (md.convert, {"privacy": md.PML(0.5), "to": md.LDP, "prior": PRIOR}),
    "compose": (md.compose, {"times": 2, "prior": None, "notions": None}),
    "save": (md.save, {"item": DESIGN, "path": "/nonexistent/x.json"}),
    "load": (md.load, {"path": "/nonexistent/x.json"}),
    "randomised_response": (md.randomised_response, {"prior": PRIOR, "epsilon": 1}),
    "pml_regions": (md.pml_regions, {"prior": PRIOR}),
    "implications": (md.implications, {"privacy": md.PML(0.5), "prior": PRIOR}),
    "identifiability": (md.identifiability, {"mechanism": FLIP}),
    "estimate": (
        md.estimate,
        {
            "reports": ["no", "yes"] * 50,
            "mechanism": FLIP,
            "method": "inversion",
            "by": "symbols",
            "feature": None,
            "intervals": "delta",
            "confidence": 0.95,
            "target": "population",
            "missing": "error",
            "rng": 1,
        },
    ),
    "estimate_change": (
        md.estimate_change,
        {
            "first": REPORTS,
            "second": pa.table({"id": list(range(100)), "x": ["no", "no", "no", "yes"] * 25}),
            "mechanisms": FLIP,
            "column": "x",
            "person": "id",
            "feature": None,
            "by": "symbols",
            "confidence": 0.95,
            "missing": "error",
            "receipts": None,
            "misfit": "warn",
        },
    ),
    "privatize in rounds": (
        lambda round: md.privatize(REPORTS, "x", FLIP, person="id", key=bytes(32), round=round),
        {"round": 1},
    ),
    "count_reports": (
        md.count_reports,
        {"reports": ["no", "yes"], "mechanism": FLIP, "column": None, "missing": "error"},
    ),
    "ReportCounts": (
        md.ReportCounts,
        {"mechanism": FLIP, "counts": {"no": 3}, "sources": ["a"]},
    ),
    "ReportCounts.from_json": (
        md.ReportCounts.from_json,
        {"content": md.ReportCounts(FLIP, {"no": 3}).to_json()},
    ),
    "ReportCounts.by_label": (md.ReportCounts(FLIP, {"no": 3}).by_label, {"mechanism": FLIP}),
    "estimate of a survey": (
        md.estimate,
        {
            "reports": SURVEY,
            "mechanism": FLIP,
            "column": "answer",
            "weights": "weight",
            "strata": "region",
            "clusters": "block",
            "by_group": "sex",
            "population": {"n": 9000, "s": 8000},
            "weighting": "hajek",
        },
    ),
    "regress": (
        md.regress,
        {
            "table": SURVEY,
            "mechanism": FLIP,
            "column": "answer",
            "response": "cost",
            "covariates": ["sex"],
            "family": "linear",
            "feature": None,
            "reference": "no",
            "weights": "weight",
            "strata": "region",
            "clusters": "block",
            "confidence": 0.95,
            "missing": "error",
            "receipt": None,
            "misfit": "error",
            "truth": None,
        },
    ),
    "plan": (
        md.plan,
        {
            "mechanism": FLIP,
            "error": 0.1,
            "worst": False,
            "confidence": 0.95,
            "assurance": 0.9,
            "by": "symbols",
        },
    ),
    "Sampler": (md.Sampler, {"mechanism": FLIP, "rng": 1}),
    "Sampler.draw": (md.Sampler(FLIP, 1).draw, {"symbols": ["no"]}),
    "Hamming": (md.utility.Hamming, {}),
    "Matrix": (md.utility.Matrix, {"u": np.eye(3), "outputs": ["a", "b", "c"]}),
    "Distance": (md.utility.Distance, {"d": "absolute"}),
    "smallest": (
        md.smallest,
        {
            "notion": md.LDP,
            "prior": PRIOR,
            "utility": md.utility.Hamming(),
            "at_least": 0.7,
            "subject_to": (),
            "outputs": None,
            "precision": 0.1,
            "solver": "auto",
            "time_limit": None,
        },
    ),
    "WorstCase": (
        md.utility.WorstCase,
        {
            "utilities": md.utility.Hamming(),
            "priors": [PRIOR],
            "weights": [2.0],
            "goals": [0.1],
            "refine": False,
        },
    ),
    "export": (
        md.export,
        {"designed": FLIP, "path": "c.mjs", "to": "javascript", "column": "x"},
    ),
    "export to SQL": (
        md.export,
        {
            "designed": FLIP,
            "path": "d.sql",
            "to": "sql",
            "dialect": "postgresql",
            "table": "people",
            "column": "x",
            "keep": ["id"],
            "into": "told",
        },
    ),
    "BayesGain": (md.utility.BayesGain, {"g": np.eye(3), "actions": ["a", "b", "c"]}),
}
for _name in (
    "PML",
    "PMC",
    "LIP",
    "ALIP",
    "LDP",
    "DP",
    "FreeLunch",
    "MetricPrivacy",
    "Odometer",
    "SymbolPML",
    "SymbolPMC",
    "SymbolLIP",
    "InputDiscriminativeLDP",
    "ContextAwareLDP",
    "UtilityOptimisedLDP",
    "InferenceCost",
    "ConditionalPMC",
    "ConditionalPML",
    "FeaturePMC",
    "FeaturePML",
    "Pufferfish",
    "RobustPML",
    "EntryPML",
    "ApproximateLDP",
    "MaximalCostLeakage",
    "MaximalLeakage",
    "MIPrivacy",
    "MIPufferfish",
    "ApproximatePufferfish",
):
    CALLS[_name] = (getattr(md, _name), None)
for _name in ("refines", "less_noisy", "more_capable", "meet"):
    CALLS[_name] = (getattr(md, _name), {"first": FLIP, "second": FLIP})
for _name in (
    "entry_leakage",
    "conditional_leakage",
    "neighbour_leakage",
    "free_lunch_leakage",
    "dp_as_pml",
    "gain_of_feature",
    "cost_of_feature",
    "feature_of_gain",
    "guesswork",
    "guesswork_cost",
    "guesswork_error",
    "find_theorem",
    "find_erratum",
    "remaining_entropy_bound",
):
    CALLS[_name] = (getattr(theory, _name), None)
GIVEN = {
    "mechanism": md.Mechanism([[0.5, 0.5]] * 4, [(0, 0), (0, 1), (1, 0), (1, 1)]),
    "database": theory.Database([[0.25, 0.25], [0.25, 0.25]]),
    "feature": md.Mechanism([[0.5, 0.5], [0.2, 0.8]]),
    "seen": theory.observe(md.Mechanism([[0.5, 0.5], [0.2, 0.8]]), md.Prior([0.5, 0.5]), 0),
    "name": "T1",
    "entropy": 0.5,
    "moment": 1.0,
    "size": 3,
    "splits": 2,
    "shrink": 1e-9,
}

# Functions that are called as they are: what they raise is theirs.
OWN_ERRORS = {
    ("Mechanism.merge", "groups"),
    ("compare", "notions"),
    ("estimate", "feature"),
    ("estimate_change", "feature"),
    ("regress", "feature"),
    ("smallest", "notion"),
}
GOOD = {"epsilon": 0.5, "epsilon_l": 0.5, "epsilon_u": 0.5, "delta": 0.1, "entries": 2, "low": 0.3}
GOOD |= GIVEN


def described(call, given):
    """The arguments of a call by name, right ones where they are known."""
    names = [
        name
        for name, parameter in inspect.signature(call).parameters.items()
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    ]
    if given is None:
        return {name: GOOD.get(name, [0.5, 0.5]) for name in names}
    return {name: value for name, value in given.items() if name in names}


@for_each("name", CALLS)
def test_errors_are_one_line_of_our_own(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call, given = CALLS[name]
    wrong, refused = [], 0
    given = described(call, given)
    for place in given:
        for kind, value in arguments().items():
            if (name, place) in OWN_ERRORS and callable(value):
                continue
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found = call(**{**given, place: value})
                    if kind not in ("hostile", "hostile list"):
                        repr(found)
            except MechdesignError as problem:
                refused += 1
                text = str(problem)
                if not (text.isprintable() and 0 < len(text) <= MOST):
                    wrong.append(f"{place}={kind}: {text[:200]!r} ({len(text)})")
            except Exception as problem:
                wrong.append(f"{place}={kind}: {type(problem).__name__}: {problem!s:.150}")
    assert not wrong, f"{len(wrong)} of {name}:\n" + "\n".join(wrong)
    assert refused > 0 or not given or name in ("Hamming",)
