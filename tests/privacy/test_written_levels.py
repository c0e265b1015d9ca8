"""Levels as they are written: one reading, and the same level wherever it goes."""

from __future__ import annotations

import copy
import json
import math
import pickle
from decimal import Decimal
from fractions import Fraction

import pytest
from checks import refused

import mechdesign as md
from mechdesign.certificate import verify
from mechdesign.certificate.certificate import fingerprint
from mechdesign.errors import LevelError
from mechdesign.privacy import parse_notion
from mechdesign.privacy.notion import read_level
from mechdesign.storage import from_json, to_json

#: What is written, what it means, and how it is told.
WRITTEN = {
    "ln 3": (md.ratio(3), "ln 3"),
    "ln(7/3)": (md.ratio(Fraction(7, 3)), "ln(7/3)"),
    "LN 2.5": (md.ratio("5/2"), "ln(5/2)"),
    "x3": (md.ratio(3), "ln 3"),
    "× 7/3": (md.ratio("7/3"), "ln(7/3)"),
    "1.5 bits": (md.bits(Decimal("1.5")), "3/2 bits"),
    "1/3 bits": (md.bits("1/3"), "1/3 bits"),
    "2 bits": (md.ratio(4), "ln 4"),
    "1/3": (Fraction(1, 3), "1/3"),
    "0.5": (0.5, "0.5"),
    "1/2": (0.5, "0.5"),
    "ln1": (0.0, "0"),
}


def test_every_written_form_is_the_same_level_in_texts_files_and_the_checker():
    for text, (level, told) in WRITTEN.items():
        notion = parse_notion(f"ldp:{text}")
        assert notion == md.LDP(level) == parse_notion(f"LDP({text})"), text
        assert str(notion) == f"LDP({told})"
        assert parse_notion(notion.spec) == parse_notion(str(notion)) == notion
        for twin in (copy.deepcopy(notion), pickle.loads(pickle.dumps(notion))):
            assert twin == notion
        design = md.design(md.Prior([0.5, 0.3, 0.2]), md.utility.Hamming(), notion)
        content = json.loads(json.dumps(to_json(design)))
        assert from_json(content).notions == (notion,)
        report = verify.check(json.dumps(content).encode())
        assert report.state == "proved", (text, report.claims)


def test_fingerprints_tell_levels_apart_that_round_to_one_float():
    design = md.design(md.Prior([0.5, 0.5]), md.utility.Hamming(), md.LDP(md.ratio(3)))
    levels = md.ratio(3), float(md.ratio(3)), md.ratio(3) * 1.0
    told = [fingerprint(design.prior, design.mechanism, [md.LDP(level)]) for level in levels]
    assert told[0] != told[1] == told[2]
    assert md.ratio(3) != math.log(3)
    assert md.LDP(md.ratio(3)) != md.LDP(math.log(3))


def test_texts_that_are_no_levels_are_refused_in_one_line():
    for text in (
        "ln 0", "ln(1/2)", "ln -3", "ln()", "ln", "x0", "x1/2", "x", "bits", "-1 bits", "1/0",
        "-1/3", "ln 1/0", "1_0", "nan", "ln nan", "x inf", "1e999", "ln 1e999", "three", "1/3/5",
        "ln(2", "",
    ):  # fmt: skip
        refused(lambda text=text: parse_notion(f"ldp:{text}"), "level")
    for value in (0, Fraction(1, 2), -3, True, None, "x", math.nan, math.inf, 10**4000, [3]):
        refused(lambda value=value: md.ratio(value), "at least 1", "md.ratio(3)", error=LevelError)
    for value in (-1, True, None, "x", math.nan, 1 << 60000, Fraction(1, 10**4000)):
        refused(lambda value=value: md.bits(value), "at least 0", error=LevelError)
    third = md.ratio(3) * Fraction(1, 3)
    for value in (Fraction(-1, 3), Decimal("nan"), Fraction(10**400, 3), third):
        refused(lambda value=value: md.LDP(value), "non-negative", error=LevelError)


def test_a_level_that_is_written_for_the_command_line_is_told_in_python():
    for text, written in (
        ("ln 3", "md.ratio(3)"),
        ("ln(7/3)", "md.ratio('7/3')"),
        ("x2.5", "md.ratio('2.5')"),
        ("1.5 bits", "md.bits('1.5')"),
        ("1/3", "Fraction('1/3')"),
        ("0.5", "0.5 without quotes"),
        ("three", "md.ratio(3)"),
    ):
        refused(lambda text=text: md.LDP(text), written, error=LevelError)
        refused(lambda text=text: md.ALIP(1, text), written, error=LevelError)
    found = refused(lambda: md.LDP("three"), "md.bits", "md.ratio", error=LevelError)
    assert "SymbolPML" not in found.remedy


def test_sums_and_multiples_of_levels_are_exact():
    assert md.ratio(2) + md.ratio(3) == md.ratio(6) == sum([md.ratio(2), md.ratio(3)])
    assert 3 * md.ratio(2) == md.ratio(8) == md.bits(3)
    assert md.bits("0.5") + md.bits("1.5") == md.ratio(4)
    assert md.ratio(2) + 0.5 == pytest.approx(math.log(2) + 0.5)
    assert float(md.ratio(2)) > 0.6931471805599453 == math.log(2)
    assert read_level("ln 2") == md.ratio(2)


def test_no_level_is_taken_for_the_rational_that_its_float_is():
    with pytest.raises(TypeError, match="no rational"):
        Fraction(md.ratio(2))
    assert Fraction(md.LDP(Fraction(1, 3)).epsilon) == Fraction(1, 3)
