"""Audits: every number against a naive formula, exact verdicts, and kernels from other tools."""

from __future__ import annotations

import html
import html.parser
import math
import re
import warnings
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from checks import for_each, slow_but
from hypothesis import given
from hypothesis import strategies as st

import mechdesign as md
from mechdesign import ALIP, LDP, LIP, PMC, PML, Mechanism, Prior, audit
from mechdesign.errors import InputError, KernelError, LevelError, PriorError, ZeroMassWarning
from mechdesign.exact import exp_bounds
from mechdesign.privacy import NOTIONS
from mechdesign.views.plain import audit_json
from mechdesign.views.text import print_audit

# Naive formulas, written out symbol by symbol


def naive(kernel, p):
    """Every number of a report, from loops over rows, columns and pairs."""
    n, m = kernel.shape
    q = [sum(p[x] * kernel[x, y] for x in range(n)) for y in range(m)]
    support = [x for x in range(n) if p[x] > 0]
    found = {key: [] for key in ("pml", "pmc", "lip", "ldp")}
    for y in range(m):
        lifts = [kernel[x, y] / q[y] for x in support] if q[y] > 0 else [1.0]
        logs = [math.log(v) if v > 0 else -math.inf for v in lifts]
        found["pml"].append(max(logs))
        found["pmc"].append(-min(logs))
        found["lip"].append(max(abs(v) for v in logs))
        ratios = [0.0]
        for x in range(n):
            for z in range(n):
                if kernel[x, y] > 0:
                    low = kernel[z, y]
                    ratios.append(math.log(kernel[x, y] / low) if low > 0 else math.inf)
        found["ldp"].append(max(ratios))
    tops = sum(max(kernel[x, y] for x in support) for y in range(m))
    lows = sum(min(kernel[x, y] for x in support) for y in range(m))
    found["maximal_leakage"] = math.log(tops)
    found["maximal_cost_leakage"] = -math.log(lows) if lows > 0 else math.inf
    found["mutual_information"] = sum(
        p[x] * kernel[x, y] * math.log(kernel[x, y] / q[y])
        for x in support
        for y in range(m)
        if kernel[x, y] > 0
    )
    found["prior_vulnerability"] = max(p)
    found["posterior_vulnerability"] = sum(
        max(p[x] * kernel[x, y] for x in range(n)) for y in range(m)
    )
    return found


def close(value):
    return pytest.approx(value, rel=1e-11, abs=1e-11)


def random_case(seed):
    rng = np.random.default_rng(seed)
    n, m = rng.integers(1, 7, size=2)
    kernel = rng.dirichlet(np.ones(m) * rng.choice([0.3, 1, 5]), size=n)
    if rng.random() < 0.4:
        kernel[rng.random((n, m)) < 0.3] = 0
        kernel[np.arange(n), rng.integers(m, size=n)] += 1e-3
        kernel /= kernel.sum(axis=1, keepdims=True)
    p = rng.dirichlet(np.ones(n))
    if n > 1 and rng.random() < 0.3:
        p[rng.integers(n)] = 0
        p /= p.sum()
    return kernel, p


def quiet_prior(p, labels=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZeroMassWarning)
        return Prior.from_counts(p, labels)


@for_each("seed", slow_but(4, range(120)))
def test_every_number_is_the_naive_one(seed):
    kernel, p = random_case(seed)
    report = audit(kernel, quiet_prior(p))
    wanted = naive(kernel, p)
    for name in ("pml", "pmc", "lip", "ldp"):
        assert getattr(report, name) == close(max(0.0, *wanted[name])), name
        per_outcome = report.leakages[name].per_outcome
        assert per_outcome.shape == (1, kernel.shape[1])
        np.testing.assert_allclose(per_outcome[0], wanted[name], rtol=1e-11, atol=1e-11)
    assert report.alip == (close(max(0.0, *wanted["pmc"])), close(max(0.0, *wanted["pml"])))
    sides = report.leakages["alip"].per_outcome
    np.testing.assert_allclose(sides, [wanted["pmc"], wanted["pml"]], rtol=1e-11, atol=1e-11)
    for name in (
        "maximal_leakage",
        "maximal_cost_leakage",
        "mutual_information",
        "prior_vulnerability",
        "posterior_vulnerability",
    ):
        assert getattr(report, name) == close(max(0.0, wanted[name])), name


@for_each("seed", slow_but(4, range(40)))
def test_levels_are_rounded_up_and_the_worst_outcome_attains_them(seed):
    kernel, p = random_case(seed)
    report = audit(kernel, quiet_prior(p))
    for leakage in report.leakages.values():
        per_outcome = leakage.per_outcome
        assert leakage.worst_output in report.mechanism.outputs
        for level, row, worst in zip(leakage.levels, per_outcome, leakage.worst, strict=True):
            place = report.mechanism.outputs.index(worst.output)
            assert row[place] == pytest.approx(row.max(), rel=1e-12)
            assert worst.level == level
            assert level >= row.max() - 1e-12 * max(1.0, level if level < math.inf else 1.0)
        assert leakage.notion.levels == leakage.levels
        verdict = leakage.notion.check(report.mechanism, report.prior).verdict
        assert verdict is md.Verdict.YES


@for_each("seed", slow_but(4, range(40)))
def test_orders_between_the_notions(seed):
    kernel, p = random_case(seed)
    report = audit(kernel, quiet_prior(p))
    slack = 1e-11
    assert report.lip == max(report.pml, report.pmc)
    assert report.ldp <= report.pml + report.pmc + slack or (np.array(p) == 0).any()
    assert report.mutual_information <= report.maximal_leakage + slack
    assert report.maximal_leakage <= report.pml + slack
    assert report.maximal_cost_leakage <= report.pmc + slack
    assert report.posterior_vulnerability >= report.prior_vulnerability - slack


def test_every_registered_notion_appears():
    report = audit(np.eye(2), [0.5, 0.5])
    wanted = {n for n, cls in NOTIONS.items() if cls.by_default and not cls.needs}
    assert {"pml", "pmc", "lip", "alip", "ldp"} <= wanted
    assert set(report.leakages) == wanted
    assert wanted <= set(report.summary())
    for name in wanted:
        assert name in repr(report)
        assert any(key.split(".")[0] == name for key in report.table()[0])


# Infinite leakage, zero mass, zero probability


def test_an_outcome_that_rules_a_symbol_out():
    report = audit([[0.5, 0.5], [0, 1]], [0.25, 0.75])
    assert report.pmc == report.lip == report.ldp == math.inf
    assert report.pml == close(math.log(4))
    assert report.alip == (math.inf, report.pml)
    assert report.leakages["pmc"].per_outcome.tolist()[0][0] == math.inf
    assert math.isfinite(report.leakages["pmc"].per_outcome[0, 1])
    assert report.leakages["pmc"].worst_output == 0
    assert report.maximal_cost_leakage == close(math.log(2))
    assert "infinite" in report.leakages["ldp"].evidence


@for_each("notion", [PMC(100), LIP(1e6), ALIP(5, math.inf), LDP(700)])
def test_infinite_leakage_breaks_every_finite_level(notion):
    report = audit([[0.5, 0.5], [0, 1]], [0.25, 0.75], notion)
    assert str(report.verdict) == "no"
    assert report.checks[0].ratio is None


def test_symbols_of_zero_mass_count_for_ldp_alone():
    with pytest.warns(ZeroMassWarning):
        prior = Prior([0.5, 0.5, 0])
    report = audit([[0.75, 0.25], [0.25, 0.75], [0, 1]], prior)
    inner = audit([[0.75, 0.25], [0.25, 0.75]], [0.5, 0.5])
    for name, value in inner.summary().items():
        if name == "ldp":
            assert report.ldp == math.inf
        elif name in ("pml", "pmc", "lip", "alip"):
            assert report.summary()[name] == value
    assert report.maximal_leakage == inner.maximal_leakage
    assert report.mutual_information == inner.mutual_information
    assert report.posterior_vulnerability == inner.posterior_vulnerability


def test_an_outcome_that_only_a_massless_symbol_gives_leaks_nothing():
    with pytest.warns(ZeroMassWarning):
        prior = Prior([1, 0])
    report = audit([[1, 0], [0, 1]], prior)
    assert report.pml == report.pmc == report.lip == 0
    assert report.table()[1]["probability"] == 0
    assert report.ldp == math.inf


def test_outcomes_of_probability_zero_leak_nothing():
    report = audit([[0.75, 0, 0.25], [0.25, 0, 0.75]], [0.5, 0.5])
    without = audit([[0.75, 0.25], [0.25, 0.75]], [0.5, 0.5])
    assert report.summary() == without.summary()
    for leakage in report.leakages.values():
        assert not leakage.per_outcome[:, 1].any()
        assert leakage.worst_output != 1


def test_a_rare_symbol_is_measured_to_the_last_digit():
    prior = Prior([1 - 1e-12, 1e-12])
    report = audit([[0.5, 0.5], [0.25, 0.75]], prior, PMC(math.log(2) + 1e-9))
    assert report.pmc == close(math.log(2))
    assert report.pml == close(math.log(1.5))
    assert str(report.verdict) == "yes"
    assert str(audit(report.mechanism, prior, PMC(math.log(2) - 1e-9)).verdict) == "no"


# Verdicts


TIGHT = [[0.75, 0.25], [0.25, 0.75]]


@for_each(
    ("notion", "level"),
    [(PML, math.log(1.5)), (PMC, math.log(2)), (LIP, math.log(2)), (LDP, math.log(3))],
)
def test_exact_kernels_are_decided_one_step_either_side(notion, level):
    above, below = math.nextafter(level, 9), math.nextafter(level, 0)
    assert str(audit(TIGHT, [0.5, 0.5], notion(above)).verdict) == "yes"
    assert str(audit(TIGHT, [0.5, 0.5], notion(below)).verdict) == "no"
    assert str(audit(TIGHT, [0.5, 0.5], notion(level)).verdict) in ("yes", "no")


ROUNDED = (np.array([[0.75, 0.25], [0.25, 0.75]]) * (1 + 1e-9)).tolist()


@for_each(
    ("notion", "level"),
    [(PML, math.log(1.5)), (PMC, math.log(2)), (LIP, math.log(2)), (LDP, math.log(3))],
)
def test_rounded_rows_tight_at_the_level_are_undecided(notion, level):
    report = audit(ROUNDED, [0.5, 0.5], notion(level))
    assert str(report.verdict) == "undecided"
    assert report.verdict is md.Verdict.UNDECIDED
    assert "off by up to 1e-09" in report.checks[0].evidence
    assert report.checks[0].achieved[0] > level
    assert str(audit(ROUNDED, [0.5, 0.5], notion(level + 1e-8)).verdict) == "yes"
    assert str(audit(ROUNDED, [0.5, 0.5], notion(level - 1e-8)).verdict) == "no"


@pytest.mark.slow
@given(
    st.lists(st.lists(st.integers(1, 20), min_size=2, max_size=2), min_size=2, max_size=4),
    st.lists(st.sampled_from([-7e-7, -1e-10, 0.0, 3e-11, 9e-7]), min_size=4, max_size=4),
    st.floats(-3, 3),
)
def test_rounded_kernels_are_judged_as_their_rounding_allows(rows, errors, place):
    """The true ratio is known up to (1+d)/(1-d): outside that range decided, inside never yes."""
    kernel = [
        [v / sum(row) * (1 + e) for v in row]
        for row, e in zip(rows, errors[: len(rows)], strict=False)
    ]
    given_numbers = [[Fraction(v) for v in row] for row in kernel]
    d = max(abs(sum(row) - 1) for row in given_numbers)
    slack = (1 + d) / (1 - d)
    ratio = max(
        given_numbers[x][y] / given_numbers[z][y]
        for y in (0, 1)
        for x in range(len(rows))
        for z in range(len(rows))
    )
    width = math.log1p(float(slack - 1))
    level = math.log1p(float(ratio - 1)) + place * width
    if level < 0 or width < 1e-12 or abs(abs(place) - 1) < 0.01:
        return
    report = audit(kernel, [1 / len(rows)] * len(rows), LDP(level))
    wanted = "no" if place < -1 else "yes" if place > 1 else "undecided"
    assert str(report.verdict) == wanted


def test_several_notions_and_the_verdict_of_all():
    asked = [PML(1), LDP(0.5), PMC(2)]
    report = audit(TIGHT, [0.5, 0.5], asked)
    assert [str(c.verdict) for c in report.checks] == ["yes", "no", "yes"]
    assert [c.notion for c in report.checks] == asked
    assert str(report.verdict) == "no"
    assert str(audit(TIGHT, [0.5, 0.5], asked[::2]).verdict) == "yes"
    mixed = audit(ROUNDED, [0.5, 0.5], [LDP(math.log(3)), PML(1)])
    assert str(mixed.verdict) == "undecided"
    worse = audit(ROUNDED, [0.5, 0.5], [LDP(math.log(3)), PML(0.1)])
    assert str(worse.verdict) == "no"


# What may be handed in


def test_arrays_lists_and_mechanisms_are_the_same():
    prior = [0.5, 0.3, 0.2]
    kernel = [[0.5, 0.5], [0.25, 0.75], [0.125, 0.875]]
    reports = [
        audit(kernel, prior),
        audit(np.array(kernel), np.array(prior)),
        audit(Mechanism(kernel), Prior(prior)),
        audit(Mechanism(kernel), prior),
        audit(kernel, Prior(prior, ["a", "b", "c"])),
        audit(Mechanism(kernel, ["a", "b", "c"]), prior),
    ]
    assert all(report.summary() == reports[0].summary() for report in reports)
    assert reports[4].mechanism.inputs == ("a", "b", "c")
    assert reports[5].prior.labels == ("a", "b", "c")


@for_each(
    ("kernel", "prior", "error", "fragments"),
    [
        (np.eye(3), [0.5, 0.5], PriorError, ["3 probabilities", "2"]),
        (np.eye(2), Prior.uniform(3), KernelError, ["3 rows", "2"]),
        (Mechanism(np.eye(2)), Prior.uniform(["a", "b"]), KernelError, ["same labels"]),
        (np.eye(2), 0.5, PriorError, ["0.5"]),
        (np.eye(2), None, PriorError, ["got none"]),
        (np.eye(2), [0.5, 0.6], PriorError, ["1.1"]),
        ([[0.5, 0.6], [0, 1]], [0.5, 0.5], KernelError, ["1.1"]),
        ([[1], [0.5, 0.5]], Prior.uniform(2), KernelError, ["equal length"]),
        ("kernel", Prior.uniform(2), KernelError, ["numbers"]),
    ],
)
def test_what_does_not_fit_is_refused(kernel, prior, error, fragments):
    with pytest.raises(InputError) as caught:
        audit(kernel, prior)
    assert type(caught.value) is error
    assert caught.value.expected
    assert caught.value.remedy
    assert "\n" not in str(caught.value)
    for fragment in fragments:
        assert fragment in str(caught.value)


@for_each("privacy", ["pml:1", PML, [], [PML(1), "ldp:1"], 1.0])
def test_what_is_no_notion_is_refused(privacy):
    with pytest.raises(LevelError, match=r"expected a notion such as PML\(0\.5\)"):
        audit(TIGHT, [0.5, 0.5], privacy)


# How it looks


def test_table_has_one_row_per_outcome():
    mechanism = Mechanism(TIGHT, outputs=["+", "-"])
    rows = audit(mechanism, [0.25, 0.75]).table()
    assert [row["output"] for row in rows] == ["+", "-"]
    assert [row["probability"] for row in rows] == [0.375, 0.625]
    assert rows[0]["pml"] == close(math.log(2))
    assert rows[0]["alip.epsilon_u"] == rows[0]["pml"]
    assert rows[0]["alip.epsilon_l"] == rows[0]["pmc"]


class _Cells(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.tags, self.cells = [], [], []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.cells.append(data)


def test_html_is_well_formed_and_escapes_labels():
    mechanism = Mechanism(TIGHT, outputs=["<b>", "a & b"])
    reader = _Cells()
    reader.feed(audit(mechanism, [0.5, 0.5], LDP(1))._repr_html_())
    assert not reader.open
    assert "b" not in reader.tags
    assert {"<b>", "a & b", "pml", "probability"} <= set(reader.cells)


def test_unknown_attributes_are_attribute_errors():
    report = audit(TIGHT, [0.5, 0.5])
    with pytest.raises(AttributeError, match="no attribute 'pmx'"):
        report.pmx  # noqa: B018


def test_each_level_names_its_own_worst_outcome():
    """The lower side is worst at the last outcome, the upper side at the first."""
    report = audit([[0.9, 0.1, 0.0], [0.3, 0.3, 0.4]], [0.2, 0.8])
    lower, upper = report.leakages["alip"].worst
    assert (lower.level, lower.output) == (math.inf, 2)
    assert upper.output == 0
    assert upper.over == "0"
    assert upper.under == "the prior"
    assert upper.level == close(math.log(0.9 / 0.42))
    assert f"{upper.about}" in repr(report)


def assert_same(one, other):
    for name, value in one.summary().items():
        np.testing.assert_allclose(value, other.summary()[name], rtol=1e-12, err_msg=name)


def test_data_frames_are_matched_by_their_labels():
    pd = pytest.importorskip("pandas")
    prior = Prior([0.7, 0.3], ["a", "b"])
    frame = pd.DataFrame([[0.9, 0.1], [0.2, 0.8]], index=["b", "a"], columns=["x", "y"])
    report = audit(frame, prior)
    assert report.mechanism.inputs == ("b", "a")
    assert report.mechanism.outputs == ("x", "y")
    straight = audit([[0.2, 0.8], [0.9, 0.1]], prior)
    assert_same(report, straight)
    plain = audit(pd.DataFrame([[0.2, 0.8], [0.9, 0.1]]), prior)
    assert_same(plain, straight)
    with pytest.raises(KernelError, match="inputs"):
        audit(frame, Prior([0.7, 0.3], ["a", "c"]))


def test_negative_dust_is_taken_as_zero():
    report = audit([[1.0, -1e-17], [0.5, 0.5]], [0.5, 0.5])
    assert report.mechanism.weights[0, 1] == 0
    assert report.ldp == math.inf
    with pytest.raises(KernelError):
        audit([[1.0, -1e-6], [0.5, 0.5]], [0.5, 0.5])


def test_a_design_is_audited_as_its_mechanism():
    prior = md.Prior([0.5, 0.3, 0.2])
    design = md.design(prior, md.utility.Hamming(), md.PML(0.5))
    assert md.audit(design, prior).pml == md.audit(design.mechanism, prior).pml
    assert md.audit(design, [0.5, 0.3, 0.2]).pml == pytest.approx(0.5, abs=1e-9)


def test_what_holds_for_every_prior_needs_none():
    kernel = [[0.75, 0.25], [0.25, 0.75]]
    found, even = audit(kernel, privacy=LDP(1.1)), audit(kernel, [0.5, 0.5], LDP(1.1))
    assert str(found) == str(even)
    for asked in (None, PML(1), [LDP(2), PMC(1)]):
        with pytest.raises(PriorError, match="beliefs are judged by"):
            audit(kernel, privacy=asked)
    with pytest.raises(PriorError):
        audit(kernel, privacy=LDP(2), requirements=md.require.diagonal(at_least=0.1))
    design = md.design(Prior([0.7, 0.3]), md.utility.Hamming(), PML(0.2))
    assert str(audit(design)) == str(audit(design, design.prior))


@pytest.mark.parametrize("share", [Fraction(3, 4), Fraction(5, 8), Fraction(2**29 + 1, 2**30)])
def test_no_level_is_printed_below_the_truth(share, capsys):
    """log 3 = 1.0986122… has 1.098612 as its nearest number of six decimals, which is below."""
    kernel = np.array([[share, 1 - share], [1 - share, share]], dtype=float)
    ratio = share / (1 - share)
    report = audit(kernel, [0.5, 0.5], LDP(math.inf))
    print_audit(report)
    lines = capsys.readouterr().out.splitlines()
    of_notion = [line.split()[3] for line in lines if line.startswith("│ ldp ")]
    of_outputs = [line.split()[-2] for line in lines if line.startswith(("│ 0 ", "│ 1 "))][-2:]
    said = [line.split()[1] for line in repr(report).splitlines() if line.startswith("  ldp ")]
    sentence = re.search(r"level ([0-9.e-]+)", report.checks[0].evidence)[1]
    assert len(of_notion) == len(said) == 1
    for text in (*of_notion, *of_outputs, *said, sentence, report.leakages["ldp"].worst[0].shown):
        level = Fraction(text.removesuffix(" nats"))
        assert exp_bounds(level)[1] >= ratio, text


def test_outputs_that_rule_symbols_out_are_named(capsys):
    labels, outputs = ["x", "y", "z"], ["a", "b", "c", "never"]
    kernel = Mechanism([[0.5, 0.1, 0.4, 0], [0.1, 0.9, 0, 0], [0.2, 0.8, 0, 0]], labels, outputs)
    report = audit(kernel, Prior.uniform(labels))
    assert report.ruled_out == {"c": ("y", "z")}
    print_audit(report)
    sentence = "Output 'c' never comes from 'y', 'z': whoever sees it knows that it was none of"
    assert sentence in capsys.readouterr().out
    assert audit_json(report)["rules_out"] == [{"output": "c", "inputs": ["y", "z"]}]
    print_audit(audit(np.full((3, 2), 0.5), Prior.uniform(labels)))
    assert "never comes" not in capsys.readouterr().out
    print_audit(audit(np.eye(8), Prior.uniform(8)))
    assert "3 more such outputs not shown." in capsys.readouterr().out


def own_notion(fails):
    """A notion of one's own that fails as ``fails`` does."""

    @dataclass(frozen=True)
    class OfAges(LDP):
        def check(self, mechanism, prior):
            fails(mechanism)
            return super().check(mechanism, prior)

    return OfAges


def of_another_table(mechanism):
    return {"18": 0}[mechanism.inputs[0]]


def of_a_misspelt_label(mechanism):
    return Prior.uniform(["18", "19"]).index(mechanism.inputs[0])


@pytest.mark.parametrize(
    ("fails", "reason"),
    [(of_another_table, "KeyError: 'a'"), (of_a_misspelt_label, "expected one of '18', '19'")],
)
def test_own_notions_that_fail_are_left_out_unless_asked_for(fails, reason, capsys):
    labels = ["a", "b"]
    kernel = Mechanism([[0.75, 0.25], [0.25, 0.75]], labels, labels)
    prior = Prior([0.5, 0.5], labels)
    plain = audit(kernel, prior, LDP(1.1))
    assert plain.left_out == {} == audit_json(plain)["left_out"]
    made = own_notion(fails)
    try:
        report = audit(kernel, prior, LDP(1.1))
        assert list(report.left_out) == ["ofages"]
        assert reason in report.left_out["ofages"]
        assert report.summary() == plain.summary()
        assert str(report.verdict) == "yes"
        assert audit_json(report)["left_out"] == report.left_out
        print_audit(report)
        for text in (repr(report), report._repr_html_(), capsys.readouterr().out):
            shown = " ".join(re.sub("[│┃]", " ", html.unescape(text)).split())
            assert "ofages was not computed" in shown, text
            assert reason in shown
            assert "by_default = False" in shown
        with pytest.raises(AttributeError, match="ofages was not computed"):
            _ = report.ofages
        with pytest.raises((KeyError, PriorError)):
            audit(kernel, prior, made(1.0))
        made.by_default = False
        assert audit(kernel, prior).left_out == {}
        with pytest.raises((KeyError, PriorError)):
            audit(kernel, prior, [LDP(2), made(1.0)])
    finally:
        NOTIONS.pop("ofages")


def test_notions_of_the_package_that_fail_are_never_left_out(monkeypatch):
    def fail(self, mechanism, prior):
        raise KeyError("a")

    monkeypatch.setattr(PML, "check", fail)
    with pytest.raises(KeyError):
        audit([[0.75, 0.25], [0.25, 0.75]], [0.5, 0.5], LDP(1.1))
