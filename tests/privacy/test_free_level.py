"""Families of notions: what a text, a class or a function stands for."""

from __future__ import annotations

import pytest
from checks import for_each

import mechdesign as md
from mechdesign.errors import InputError, LevelError
from mechdesign.privacy.free_level import as_families, parse_family


@for_each(
    ("text", "name", "notions"),
    [
        ("pml", "PML", (md.PML(0.5),)),
        (" ldp : 3e ", "LDP(3ε)", (md.LDP(1.5),)),
        ("alip", "ALIP", (md.ALIP(0.5, 0.5),)),
        ("alip:0.7,e", "ALIP(0.7, ε)", (md.ALIP(0.7, 0.5),)),
        ("alip:2*ε,.5eps", "ALIP(2ε, 0.5ε)", (md.ALIP(1.0, 0.25),)),
        ("dp:e,adjacent", "DP(ε, adjacent)", (md.DP(0.5, "adjacent"),)),
        ("pml:e+ldp:2e", "PML + LDP(2ε)", (md.PML(0.5), md.LDP(1.0))),
    ],
)
def test_texts(text, name, notions):
    family = parse_family(text)
    assert family.name == name
    assert family.at(0.5) == notions


@for_each(
    "text",
    ["", "pmk", "pml:", "pml:0.5", "pml:0e", "alip:e", "dp", "dp:e", "pml:e+", "pml:-e", "pml:xe"],
)
def test_texts_that_mean_nothing(text):
    with pytest.raises(InputError):
        parse_family(text)


def test_what_families_may_be_made_from():
    families = as_families([md.PML, "ldp", {"half": lambda e: md.PML(e / 2)}, parse_family("lip")])
    assert [f.name for f in families] == ["PML", "LDP", "half", "LIP"]
    assert families[2].at(1.0) == (md.PML(0.5),)
    assert [f.name for f in as_families("pml")] == ["PML"]


@for_each("notions", [[], {}, 3, None, [3], [md.PML, "pml"], md.PML(1), [md.DP]])
def test_what_they_may_not(notions):
    with pytest.raises(LevelError):
        as_families(notions)


def test_levels_are_checked_when_they_are_given():
    with pytest.raises(LevelError, match="non-negative"):
        parse_family("pml").at(-1.0)
    with pytest.raises(LevelError, match="a notion such as"):
        as_families(lambda e: e)[0].at(1.0)
