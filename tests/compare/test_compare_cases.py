"""Comparisons where it is easy to say too much: steps, ties, other people's files."""

from __future__ import annotations

import shutil
from dataclasses import replace

import numpy as np
import pytest
from checks import for_each

import mechdesign as md
from mechdesign.errors import LevelError, NoMethodError, StorageError
from mechdesign.solve._sweep import Walk

PRIOR = md.Prior([0.4, 0.3, 0.2, 0.1])


def test_the_best_of_the_levels_whose_kernel_leaks_the_target():
    """Squared errors under PMC: a better kernel leaks less, so the search may not stop early."""
    prior = md.Prior(np.random.default_rng(3).dirichlet(np.ones(5)))
    utility = md.utility.Distance("squared")
    levels = np.linspace(0.0, 3.0, 61)
    found = [md.design(prior, utility, md.PMC(level)) for level in levels]
    leaks = np.array([md.audit(design.mechanism, prior).pml for design in found])
    assert (np.diff(leaks) < -0.1).any(), "the example must hold a step down"
    for target in (0.4, 2.25, 2.33, 3.0):
        best = max(d.value for d, leak in zip(found, leaks, strict=True) if leak <= target)
        (point,) = md.compare(prior, utility, md.PMC, [target], match="pml")
        assert point.attained <= target
        assert point.value >= best - 1e-3 * abs(best)


def test_a_loss_that_no_level_reaches_is_missing():
    """A level that stays fixed keeps the loss up; such a design is not one of equal loss."""
    found = md.compare(PRIOR, md.utility.Hamming(), ["alip:1,e", "pml"], [0.01, 0.3], match="loss")
    assert [(m.notion, m.target) for m in found.missing] == [("ALIP(1, ε)", 0.01)]
    assert "it loses at least 0.2575 at every level" in found.missing[0].reason
    assert all(p.loss <= p.target + 1e-9 for p in found)


def test_every_leader_has_the_lead_that_is_said():
    """A leader whose bound overlaps with the best is ahead by its own value, not by the best."""
    found = md.compare(PRIOR, md.utility.Hamming(), [md.PML, md.LIP, md.LDP], [1.0])
    pml, lip, ldp = found.points
    loose = replace(lip, kept_bound=pml.kept + 0.01)
    changed = replace(found, points=(pml, loose, ldp))
    (ranking,) = changed.rankings
    assert ranking.leaders == ("PML", "LIP")
    assert ranking.lead == pytest.approx(lip.kept - ldp.kept_bound)
    said = changed.verdict[0]
    assert "cannot be told apart" in said
    assert "give the same" not in said


def test_a_name_makes_no_ceiling():
    notions = {"LDP": md.LIP, "other": md.LDP}
    found = md.compare(PRIOR, md.utility.Hamming(), notions, [0.5], match="ldp")
    assert not any("none can give more" in line for line in found.verdict)


def test_notions_keep_their_order_and_colour_where_one_is_missing():
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    priors = {"a": PRIOR, "b": md.Prior([0.97, 0.01, 0.01, 0.01])}
    found = md.compare(priors, md.utility.Hamming(), ["alip:1,e", "pml"], [0.1], match="loss")
    assert found.notions == ("ALIP(1, ε)", "PML")
    assert [(m.prior, m.notion) for m in found.missing] == [("a", "ALIP(1, ε)")]
    colours: dict[str, set[str]] = {}
    for panel in md.plot_frontiers(found).ravel():
        for line in panel.get_lines():
            colours.setdefault(line.get_label(), set()).add(line.get_color())
    assert all(len(shown) == 1 for shown in colours.values())
    pyplot.close("all")


def test_what_cannot_be_designed_is_refused_first(tmp_path):
    information = md.utility.MutualInformation()
    with pytest.raises(NoMethodError, match="MIPrivacy"):
        md.compare(PRIOR, information, ["pml", "miprivacy"], [0.5], resume=tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("folder", ["", "  ", 3])
def test_folders_that_have_no_name(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StorageError, match="name a folder"):
        md.compare(PRIOR, md.utility.Hamming(), md.PML, [0.5], resume=folder)


def test_a_sound_design_for_another_utility_is_not_taken(tmp_path):
    def kept(utility):
        before = set(tmp_path.iterdir())
        md.compare(PRIOR, utility, md.PML, [0.5], resume=tmp_path)
        return (set(tmp_path.iterdir()) - before).pop()

    squared = md.utility.Distance("squared")
    shutil.copy(kept(md.utility.Distance("absolute")), file := kept(squared))
    with pytest.raises(StorageError, match="remove it"):
        md.compare(PRIOR, squared, md.PML, [0.5], resume=tmp_path)
    file.write_text("{", encoding="utf-8")
    with pytest.raises(StorageError, match="designs that point again"):
        md.compare(PRIOR, squared, md.PML, [0.5], resume=tmp_path)


@for_each(
    "utility",
    [
        md.utility.Distance(lambda x, y: abs(x - y) ** 1.5),
        md.utility.Matrix(np.arange(12.0).reshape(4, 3) % 5, ["a", "b", "c"]),
        md.utility.BayesGain(np.eye(4), list("abcd")),
        md.utility.MutualInformation(),
    ],
)
def test_designs_of_any_utility_are_found_again(utility, tmp_path, monkeypatch):
    first = md.compare(PRIOR, utility, md.LDP, [0.5], resume=tmp_path)
    monkeypatch.setattr(Walk, "step", lambda *_: pytest.fail("designed again"))
    again = md.compare(PRIOR, utility, md.LDP, [0.5], resume=tmp_path)
    assert [(p.value, p.bound) for p in again] == [(p.value, p.bound) for p in first]


@pytest.mark.parametrize(
    "notion",
    [lambda: md.PML(1), md.Prior, md.utility.Hamming],
    ids=["nothing", "a prior", "a utility"],
)
def test_functions_that_take_no_level(notion):
    with pytest.raises(LevelError, match="function of the level alone"):
        md.compare(PRIOR, md.utility.Hamming(), notion, [0.5])


def test_an_interrupted_command_says_where_it_goes_on(tmp_path, monkeypatch, capsys):
    from mechdesign.cli import main

    arguments = ["compare", "--prior", ".5,.3,.2", "-n", "pml", "--levels", ".1,.5,1"]
    arguments += ["--resume", str(tmp_path / "kept"), "-o", str(tmp_path / "found.csv")]
    step, made = Walk.step, []

    def interrupted(self, problem):
        if len(made) == 2:
            raise KeyboardInterrupt
        made.append(problem)
        return step(self, problem)

    with monkeypatch.context() as patched:
        patched.setattr(Walk, "step", interrupted)
        assert main(arguments) == 130
    said = capsys.readouterr().err
    assert f"kept in {tmp_path / 'kept'}; the same command goes on" in said
    assert not (tmp_path / "found.csv").exists()
    assert main(arguments) == 0
    assert len(made) == 2
    assert len(list((tmp_path / "kept").iterdir())) == 3


def test_information_of_rare_symbols_at_extreme_levels():
    """Kernels that fail their check give way to other methods, and high levels lose no value."""
    rare, even = md.Prior([1e-12, 0.3, 0.2, 0.5 - 1e-12]), md.Prior([0.25] * 4)
    levels = [1e-4, 22.627416997969522, 30.0, 32.0, 700.0]
    information = md.utility.MutualInformation()
    found = md.compare({"rare": rare, "even": even}, information, ["pml", "lip", "ldp"], levels)
    assert found.worst_gap < 1e-6
    entropy = {"rare": 1.0296530, "even": np.log(4)}
    for point in found:
        if point.target > 20:
            assert point.value == pytest.approx(entropy[point.prior], abs=1e-6)
    with pytest.warns(md.errors.GapWarning):  # all there is to gain is 1e-12
        at_edge = md.compare(rare, information, "pml", [30.0], match="ldp")
    assert at_edge.points[0].bound < 1e-10


def test_what_no_file_can_hold_is_refused_before_anything_is_designed(tmp_path, monkeypatch):
    monkeypatch.setattr(Walk, "step", lambda self, problem: pytest.fail("designed"))
    mine = md.utility.FInformation(lambda t: t * t - 1, "mine")
    with pytest.raises(StorageError, match="leave out resume"):
        md.compare(PRIOR, mine, md.PML, [0.5], resume=tmp_path / "kept")
    assert not (tmp_path / "kept").exists()
