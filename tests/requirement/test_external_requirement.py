"""A requirement from outside the package: designed with, checked, priced, saved and read back."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

import mechdesign as md
from mechdesign.errors import CertificateError, InfeasibleError, RequirementError
from mechdesign.requirement import Limit, Requirement

ABC = md.Prior([0.5, 0.3, 0.2], ["a", "b", "c"])
# Its best kernel lies more than one that tells all symbols alike.
RARE = md.Prior([0.7, 0.2, 0.1], ["a", "b", "c"])
HAMMING = md.utility.Hamming()


@dataclass(frozen=True)
class LiesLittle(Requirement):
    """P(Y ≠ X) ≤ limit over some symbols, each counted alike."""

    limit: float
    symbols: tuple[str, ...] = ("a", "b", "c")

    def limits(self, prior, outputs):
        """One."""
        x = np.array([prior.index(label) for label in self.symbols])
        y = np.array([list(outputs).index(label) for label in self.symbols])
        least = len(x) - Fraction(self.limit)
        yield Limit(x, y, np.ones(len(x)), least, None, self.description)

    def excess(self, mechanism, prior):
        """By loops over the weights."""
        kept = Fraction(0)
        for label in self.symbols:
            x, y = mechanism.inputs.index(label), mechanism.outputs.index(label)
            kept += Fraction(int(mechanism.weights[x][y]), 1 << mechanism.bits)
        return len(self.symbols) - kept - Fraction(self.limit), "all its symbols"

    @property
    def description(self):
        """The limit."""
        return f"at most {self.limit:g} lies of {len(self.symbols)} symbols"


@dataclass(frozen=True)
class SaysOtherwise(LiesLittle, register=False):
    """A check that asks for more than the limits do."""

    def excess(self, mechanism, prior):
        """A tenth more."""
        excess, where = super().excess(mechanism, prior)
        return excess + Fraction(1, 10), where


def lies(kernel):
    return 3 - float(np.trace(kernel))


def test_a_design_holds_it_exactly():
    plain = md.design(RARE, HAMMING, md.LDP(1.5))
    limit = 1.15
    found = md.design(RARE, HAMMING, md.LDP(1.5), subject_to=LiesLittle(limit))
    assert lies(plain.mechanism.kernel) > limit
    assert found.certificate.kept[0].excess <= 0
    assert found.status == "optimal"
    assert found.value < plain.value


def test_its_price_is_the_derivative_in_its_limit():
    def value(limit):
        return md.design(RARE, HAMMING, md.LDP(1.5), subject_to=LiesLittle(limit)).value

    found = md.design(RARE, HAMMING, md.LDP(1.5), subject_to=LiesLittle(1.15))
    (price,) = md.binding(found).limits
    assert price.requirement == LiesLittle(1.15)
    assert price.price == pytest.approx((value(1.15 + 1e-5) - value(1.15 - 1e-5)) / 2e-5, rel=1e-4)
    assert price.price > 0.01


def test_what_it_leaves_impossible_is_proved():
    with pytest.raises(InfeasibleError) as caught:
        md.design(ABC, HAMMING, md.LDP(0.5), subject_to=LiesLittle(0.5))
    assert caught.value.clash == ("LDP(0.5)", "at most 0.5 lies of 3 symbols")
    # All pairs: three floors of 1 − 0.5/3 = e^ε/(e^ε + 2).
    assert caught.value.levels["LDP(0.5)"] == pytest.approx(np.log(2 * (5 / 6) / (1 / 6)))


def test_a_check_that_says_otherwise_withholds_the_kernel():
    with pytest.raises(CertificateError, match=r"broken by 0\.1|withheld"):
        md.design(RARE, HAMMING, md.LDP(1.5), subject_to=SaysOtherwise(1.15))


def test_it_is_audited_compared_saved_and_read_back(tmp_path):
    asked = LiesLittle(1.4, ("a", "b", "c"))
    found = md.design(ABC, HAMMING, md.LDP(1.5), subject_to=asked)
    md.save(found, tmp_path / "d.json")
    assert md.load(tmp_path / "d.json").requirements == (asked,)
    assert str(md.audit(found.mechanism, ABC, requirements=asked).verdict) == "yes"
    assert str(md.audit(found.mechanism, ABC, requirements=LiesLittle(0.1)).verdict) == "no"
    table = md.compare(ABC, HAMMING, [md.LDP], [0.5, 1.5], subject_to=asked, resume=tmp_path / "r")
    assert [p.target for p in table] == [1.5]
    assert [m.target for m in table.missing] == [0.5]


@pytest.mark.slow
def test_the_command_line_names_it_by_its_path(tmp_path):
    text = """
from dataclasses import dataclass
from fractions import Fraction
import numpy as np
from mechdesign.requirement import Limit, Requirement

@dataclass(frozen=True)
class FirstAtLeast(Requirement):
    value: float
    def limits(self, prior, outputs):
        yield Limit(np.array([0]), np.array([0]), np.ones(1), Fraction(self.value), None, "first")
    def excess(self, mechanism, prior):
        found = Fraction(int(mechanism.weights[0, 0]), 1 << mechanism.bits)
        return Fraction(self.value) - found, "the first entry"
    @property
    def description(self):
        return f"the first entry is at least {self.value:g}"
"""
    (tmp_path / "mine.py").write_text(text)
    base = [sys.executable, "-m", "mechdesign"]
    asked = ["--require", "mine:FirstAtLeast:0.7"]
    design = ["design", "--prior", "0.5,0.3,0.2", "-p", "ldp:1.5", *asked, "-o", "d.json"]
    for line, code in (
        (design, 0),
        (["--import", "mine", "audit", "d.json"], 0),
        (["audit", "d.json"], 2),
        (["--import", "mine", "audit", "d.json", "--require", "mine:FirstAtLeast:0.99"], 1),
    ):
        done = subprocess.run(
            [*base, *line], cwd=tmp_path, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == code, done.stderr
    content = json.loads((tmp_path / "d.json").read_text())
    assert content["requirements"] == [{"name": "FirstAtLeast", "parameters": {"value": 0.7}}]


def test_a_name_of_the_package_is_taken():
    with pytest.raises(RequirementError, match="a class name that is not taken"):

        @dataclass(frozen=True)
        class Cost(LiesLittle):
            """Another."""
