"""Saving and loading: what comes back is what was saved, and an altered file is refused."""

from __future__ import annotations

import copy
import csv
import datetime as dt
import errno
import hashlib
import json
import math
import os
import stat
import warnings
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from checks import for_each
from hypothesis import given
from hypothesis import strategies as st

import mechdesign as md
from mechdesign import ALIP, LDP, LIP, PMC, PML, Mechanism, Prior
from mechdesign.certificate import verify
from mechdesign.errors import CountsWarning, MechdesignError, StorageError, ZeroMassWarning
from mechdesign.files import write_text
from mechdesign.kernel_files import write_csv
from mechdesign.storage import from_json, to_json
from mechdesign.tables.matrices import read_matrix
from mechdesign.utility import BayesGain, Distance, Hamming, Matrix

ABC = Prior([0.5, 0.3, 0.2], ["a", "b", "c"])
STEPS = Prior([0.1, 0.2, 0.3, 0.4], [0, 1, 2.5, 10])
NOTIONS = {
    "pml": PML(0.4),
    "pml high privacy": PML(0.05),
    "pmc": PMC(0.7),
    "lip": LIP(0.3),
    "alip": ALIP(0.9, 0.25),
    "ldp": LDP(1),
    "pml unbounded": PML(math.inf),
    "alip one side": ALIP(math.inf, 0.3),
    "zero": LDP(0),
    "several": [PML(0.5), LDP(2), ALIP(math.inf, 0.45)],
}
UTILITIES = {
    "hamming": (ABC, Hamming()),
    "absolute": (STEPS, Distance("absolute")),
    "squared": (STEPS, Distance("squared")),
    "function": (STEPS, Distance(lambda x, y: abs(x - y) ** 0.5)),
    "matrix": (ABC, Matrix([[1, 0], [0.25, 0.5], [-1 / 3, 1]], ["yes", "no"])),
    "gain": (ABC, BayesGain([[1, 0, 0.5], [0, 1, 0.5], [0.3, 0.3, 0.5]])),
}


def digest_of(content):
    """The digest as a stranger would compute it, from the format alone."""
    kept = {key: value for key, value in content.items() if key != "digest"}
    text = json.dumps(kept, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def as_file(designed):
    """What is in the file, as plain JSON values."""
    return json.loads(json.dumps(to_json(designed)))


def resealed(content):
    """The content with a digest that fits it."""
    return {**content, "digest": digest_of(content)}


@pytest.fixture(scope="module")
def found():
    return md.design(ABC, Hamming(), PML(0.4))


@pytest.fixture
def content(found):
    return as_file(found)


# Round trips


@for_each("name", NOTIONS)
def test_designs_of_every_notion_come_back(name, tmp_path):
    path = tmp_path / "design.json"
    found = md.design(ABC, Hamming(), NOTIONS[name])
    md.save(found, path)
    again = md.load(path)
    assert again.mechanism == found.mechanism
    assert again.prior == found.prior
    assert again.notions == found.notions
    assert again.method == found.method
    assert again.certificate.fingerprint == found.certificate.fingerprint
    assert (again.value, again.bound, again.gap) == (found.value, found.bound, found.gap)
    assert [c.achieved for c in again.certificate.checks] == [
        c.achieved for c in found.certificate.checks
    ]
    assert again.certificate.repair == found.certificate.repair
    assert repr(again) == repr(found)
    before = md.audit(found.mechanism, found.prior, found.notions)
    after = md.audit(again.mechanism, again.prior, again.notions)
    assert after.summary() == before.summary()
    assert after.table() == before.table()
    assert after.checks == before.checks


@for_each("name", UTILITIES)
def test_designs_of_every_utility_come_back(name, tmp_path):
    prior, goal = UTILITIES[name]
    found = md.design(prior, goal, LIP(0.4))
    md.save(found, tmp_path / "design.json")
    again = md.load(tmp_path / "design.json")
    assert again.mechanism == found.mechanism
    assert again.value == found.value
    assert again.bound == found.bound
    outputs = found.mechanism.outputs
    np.testing.assert_array_equal(
        again.utility.gains(prior, outputs), found.utility.gains(prior, outputs)
    )
    if name in ("hamming", "absolute", "squared"):
        assert again.utility.spec == goal.spec
    assert as_file(again)["mechanism"] == as_file(found)["mechanism"]


def test_saving_what_was_loaded_gives_the_same_file(found, tmp_path):
    md.save(found, tmp_path / "one.json")
    md.save(md.load(tmp_path / "one.json"), tmp_path / "two.json")
    assert (tmp_path / "one.json").read_text() == (tmp_path / "two.json").read_text()


def test_a_design_by_interior_point_comes_back(tmp_path):
    found = md.design(STEPS, Distance("absolute"), LDP(1), solver="highs-ipm")
    md.save(found, tmp_path / "design.json")
    assert md.load(tmp_path / "design.json").bound == found.bound


def test_a_design_with_symbols_of_zero_mass_comes_back_in_silence(tmp_path):
    with pytest.warns(ZeroMassWarning):
        prior = Prior([0.5, 0, 0.5], ["a", "b", "c"])
    found = md.design(prior, Hamming(), PML(0.4))
    md.save(found, tmp_path / "design.json")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = md.load(tmp_path / "design.json")
    assert again.mechanism == found.mechanism
    assert again.prior == prior


@for_each(
    "labels",
    [
        ["a", "b"],
        [0, 1],
        [0.5, -1e300],
        [True, None],
        [("a", 1), ("a", ("b", 2.5))],
        ["", "ü \n\"'\u2028"],
        [(), ("x",)],
        [10**30, "10"],
        [math.inf, -math.inf],
    ],
)
def test_labels_keep_value_and_type(labels, tmp_path):
    mechanism = Mechanism([[0.75, 0.25], [0.25, 0.75]], labels, labels[::-1])
    md.save(mechanism, tmp_path / "m.json")
    again = md.load(tmp_path / "m.json")
    assert again == mechanism
    assert [type(x) for x in again.inputs] == [type(x) for x in labels]


def test_products_come_back_with_their_tuples(tmp_path):
    flip = Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"])
    both = flip.product(flip).product(flip)
    md.save(both, tmp_path / "m.json")
    assert md.load(tmp_path / "m.json") == both


@given(
    st.lists(st.lists(st.floats(0, 1), min_size=2, max_size=2), min_size=1, max_size=4).filter(
        lambda rows: all(sum(row) > 0 for row in rows)
    )
)
def test_any_kernel_comes_back_bit_for_bit(rows):
    mechanism = Mechanism(rows, normalise=True)
    again = from_json(as_file(mechanism))
    assert again == mechanism
    assert again.row_error == mechanism.row_error
    assert again.kernel.tobytes() == mechanism.kernel.tobytes()


def test_a_kernel_with_large_integers_comes_back(tmp_path):
    long = Mechanism([[0.9, 0.1], [0.2, 0.8]], normalise=True)
    for _ in range(5):
        long = long @ long
    md.save(long, tmp_path / "m.json")
    assert md.load(tmp_path / "m.json") == long


# The file


def test_the_file_is_strict_json_with_schema_prior_notion_level_and_certificate(found, tmp_path):
    md.save(found, tmp_path / "design.json")
    text = (tmp_path / "design.json").read_text()
    content = json.loads(text, parse_constant=pytest.fail)
    assert (content["format"], content["schema"]) == ("mechdesign", 1)
    assert content["version"] == md.__version__
    assert content["prior"]["labels"] == ["a", "b", "c"]
    assert content["notions"] == [{"name": "PML", "parameters": {"epsilon": 0.4}}]
    assert content["utility"]["name"] == "hamming"
    assert content["certificate"]["verdicts"] == ["yes"]
    assert content["certificate"]["value"] == found.value
    assert content["certificate"]["bound"] == found.bound
    assert content["digest"] == digest_of(content)


def test_an_infinite_level_is_strict_json_too(tmp_path):
    md.save(md.design(ABC, Hamming(), [PML(math.inf), LDP(1)]), tmp_path / "design.json")
    json.loads((tmp_path / "design.json").read_text(), parse_constant=pytest.fail)


def test_weights_in_the_file_are_the_exact_kernel(found, content):
    part = content["mechanism"]
    scale = 2 ** part["denominator_bits"]
    rows = [[Fraction(int(w), scale) for w in row] for row in part["weights"]]
    assert rows == [[Fraction(v) for v in row] for row in found.mechanism.kernel.tolist()]
    assert all(sum(row) == 1 for row in rows)


@for_each("value", [5, None, [[1.0]], ABC])
def test_only_designs_and_mechanisms_can_be_saved(value, tmp_path):
    with pytest.raises(StorageError, match="expected a Design or a Mechanism"):
        md.save(value, tmp_path / "x.json")
    assert not list(tmp_path.iterdir())


@for_each("label", [frozenset({1}), Decimal("Infinity"), dt.time(1, tzinfo=dt.timezone.max)])
def test_labels_that_have_no_form_in_a_file_are_refused(label, tmp_path):
    found = Mechanism([[1.0]], [(1, label)])
    with pytest.raises(StorageError, match="relabel before saving"):
        md.save(found, tmp_path / "x.json")
    assert not list(tmp_path.iterdir())


ZONE = dt.timezone(dt.timedelta(hours=2))
TYPED = {
    "dates": [dt.date(2020, 1, 2), dt.date(1, 1, 1)],
    "timestamps": [dt.datetime(2020, 1, 2, 3, 4, 5, 6), dt.datetime(2020, 1, 2)],
    "zones": [dt.datetime(2020, 1, 2, tzinfo=dt.UTC), dt.datetime(2020, 1, 2, tzinfo=ZONE)],
    "times": [dt.time(1), dt.time(2, 3, 4, 5)],
    "decimals": [Decimal("1.50"), Decimal("-2E+3")],
    "bytes": [b"", b"\0a"],
    "fractions": [Fraction(1, 3), Fraction(2)],
    "truth values": [True, False],
    "tuples": [(dt.date(2020, 1, 2), Decimal("0.1")), (None, b"a")],
}


@for_each("kind", TYPED)
def test_labels_of_every_type_are_saved_loaded_and_verified(kind, tmp_path):
    labels = TYPED[kind]
    prior = md.Prior([0.6, 0.4], labels)
    found = md.design(
        prior, md.utility.Estimation(), md.SymbolPML(1, dict(zip(labels, (0.5, 1), strict=True)))
    )
    md.save(found, tmp_path / "x.json")
    again = md.load(tmp_path / "x.json")
    assert again.mechanism == found.mechanism
    assert repr(again.prior.labels) == repr(found.prior.labels)
    assert prior.labels == tuple(labels)
    assert set(map(type, found.mechanism.outputs)) == {str if kind == "tuples" else type(labels[0])}
    assert verify.check((tmp_path / "x.json").read_bytes()).state == verify.PROVED


# Altered files


def edit(content, path, value):
    """A copy with one place changed; a function changes the value found there."""
    changed = copy.deepcopy(content)
    part = changed
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value(part[path[-1]]) if callable(value) else value
    return changed


def moved_weights(content, amount):
    """Weight moved so that the first row leans more to its first output; rows still sum to one."""
    changed = copy.deepcopy(content)
    row = changed["mechanism"]["weights"][0]
    assert int(row[1]) >= amount
    row[0], row[1] = str(int(row[0]) + amount), str(int(row[1]) - amount)
    return changed


def test_any_edit_breaks_the_digest(content):
    for path, value in [
        (("mechanism", "weights", 0, 0), lambda w: str(int(w) + 1)),
        (("certificate", "bound"), lambda b: b + 1e-9),
        (("certificate", "gap"), 0.5),
        (("notions", 0, "parameters", "epsilon"), 0.1),
        (("prior", "weights", 0), "7"),
        (("method",), "magic"),
        (("version",), "9.9"),
    ]:
        changed = edit(content, path, value)
        assert changed != content
        with pytest.raises(StorageError, match="do not match their digest"):
            from_json(changed)
    without = {key: value for key, value in content.items() if key != "digest"}
    with pytest.raises(StorageError, match="digest"):
        from_json(without)


def test_an_edited_kernel_with_a_fitting_digest_fails_the_exact_check(content):
    changed = moved_weights(content, 2**40)
    with pytest.raises(StorageError, match="digest"):
        from_json(changed)
    with pytest.raises(StorageError, match=r"altered .*PML\(0.4\) is no"):
        from_json(resealed(changed))


def test_one_unit_in_2_to_the_53_is_enough_to_fail(content):
    """A level set to what the kernel achieves leaves no room at all."""
    achieved = content["certificate"]["achieved"][0][0]
    tight = edit(content, ("notions", 0, "parameters", "epsilon"), math.nextafter(achieved, 0))
    with pytest.raises(StorageError, match=r"altered .*is no"):
        from_json(resealed(tight))


def test_a_smaller_level_than_the_kernel_has_fails_the_exact_check(content):
    for level in (0.3999, 0.1, 0, 0.0):
        changed = resealed(edit(content, ("notions", 0, "parameters", "epsilon"), level))
        with pytest.raises(StorageError, match="altered"):
            from_json(changed)


def test_another_notion_than_the_kernel_satisfies_fails_the_exact_check(content):
    changed = resealed(edit(content, ("notions", 0, "name"), "LDP"))
    with pytest.raises(StorageError, match=r"altered .*LDP\(0.4\) is no"):
        from_json(changed)


def test_another_prior_fails(content):
    changed = edit(content, ("prior", "weights"), lambda w: w[::-1])
    with pytest.raises(StorageError):
        from_json(resealed(changed))


@pytest.mark.parametrize("claim", ["value", "bound"])
@pytest.mark.parametrize("value", [0.0, 0.999, 1e9, math.nan, math.inf])
def test_an_edited_value_or_bound_with_a_fitting_digest_is_refused(content, claim, value):
    changed = resealed(edit(content, ("certificate", claim), value))
    with pytest.raises(StorageError, match=f"claims {claim}"):
        from_json(changed)


def test_edited_duals_cannot_lower_the_bound(content):
    """Duals that are worse give a higher bound than the file claims; none gives a lower one."""
    for prices in ([0.0, 0.0, 0.0], [1e6, -1e6, 3.0], [-1.0, -1.0, -1.0]):
        changed = resealed(edit(content, ("certificate", "duals", "prices"), prices))
        try:
            again = from_json(changed)
        except StorageError:
            continue
        assert again.bound >= again.value


@pytest.mark.parametrize(
    ("claim", "value"),
    [("gap", -1.0), ("achieved", [[0.001]]), ("verdicts", ["no"]), ("optimal", False)],
)
def test_other_false_claims_are_refused_or_replaced_by_the_truth(found, content, claim, value):
    changed = resealed(edit(content, ("certificate", claim), value))
    try:
        again = from_json(changed)
    except StorageError:
        return
    assert as_file(again) == content


def test_the_fingerprint_is_checked(content):
    changed = resealed(edit(content, ("certificate", "fingerprint"), "0" * 64))
    with pytest.raises(StorageError, match="fingerprint"):
        from_json(changed)
    renamed = edit(content, ("prior", "labels"), ["x", "y", "z"])
    renamed["mechanism"]["inputs"] = ["x", "y", "z"]
    renamed["mechanism"]["outputs"] = ["x", "y", "z"]
    with pytest.raises(StorageError, match="fingerprint"):
        from_json(resealed(renamed))


@pytest.mark.parametrize("schema", [0, 3, "1", None, 1.5])
def test_an_unknown_schema_is_refused(content, schema):
    changed = resealed(edit(content, ("schema",), schema))
    with pytest.raises(StorageError, match=r"expected schema version 1 or 2, got .*upgrade"):
        from_json(changed)


@for_each("value", [None, [], 5, "text", {}, {"format": "other"}])
def test_other_json_is_refused(value):
    with pytest.raises(StorageError, match="expected a file written by mechdesign"):
        from_json(value)


@pytest.mark.parametrize("kind", ["sampler", "", None, "Design"])
def test_an_unknown_kind_is_refused(content, kind):
    with pytest.raises(StorageError):
        from_json(resealed(edit(content, ("kind",), kind)))


def test_an_unknown_notion_is_refused(content):
    changed = resealed(edit(content, ("notions", 0, "name"), "Psychic"))
    with pytest.raises(StorageError, match=r"'Psychic' is not known here; import the module"):
        from_json(changed)


def _places(part, path=()):
    yield path
    children = ()
    if isinstance(part, dict):
        children = part.items()
    elif isinstance(part, list):
        children = enumerate(part)
    for key, value in children:
        yield from _places(value, (*path, key))


def test_every_part_is_needed(content):
    """Without any one key, the file is refused, or loads with nothing made up."""
    optional = {"version", "probabilities", "verdicts", "achieved", "gap", "gain_gap", "optimal"}
    optional |= {"bound_source", "arithmetic", "value_exact", "bound_exact"}
    for path in list(_places(content)):
        if not path or not isinstance(path[-1], str) or path[-1] in {"digest", *optional}:
            continue
        changed = copy.deepcopy(content)
        part = changed
        for key in path[:-1]:
            part = part[key]
        del part[path[-1]]
        with pytest.raises(StorageError):
            from_json(resealed(changed))


JUNK = [None, True, -1, 0, 1.5, "x", "", [], {}, [[]], math.inf, math.nan, "1/0", "inf", 10**30]


@pytest.mark.slow
def test_junk_in_any_place_is_refused_or_leaves_a_design_that_works(content):
    """Whatever stands in whatever place: a storage error, or a sound design that can be shown."""
    loaded, crashes = 0, set()
    for path in list(_places(content)):
        if not path or path[0] in ("digest", "version") or path[-1] == "denominator_bits":
            continue
        for value in JUNK:
            changed = resealed(edit(content, path, lambda _, value=value: value))
            try:
                again = from_json(changed)
                assert all(str(check.verdict) == "yes" for check in again.certificate.checks)
                assert repr(again)
                assert to_json(again)
                loaded += 1
            except StorageError:
                continue
            except Exception as crash:
                place = ".".join("*" if isinstance(key, int) else key for key in path)
                crashes.add(f"{type(crash).__name__}: {place} = {value!r}")
    assert loaded > 0
    assert not crashes, "\n".join(sorted(crashes))


@pytest.mark.parametrize("bits", [-1, "x", None, 10**30, math.inf, 1.5, 52])
def test_junk_for_the_denominator_is_refused(content, bits):
    with pytest.raises(StorageError):
        from_json(resealed(edit(content, ("mechanism", "denominator_bits"), bits)))


def test_mechanisms_are_checked_as_well():
    content = as_file(Mechanism([[0.75, 0.25], [0.25, 0.75]]))
    for weights in ([["3", "2"], ["1", "3"]], [["5", "-1"], ["1", "3"]], [["3"], ["1", "3"]], []):
        with pytest.raises(StorageError):
            from_json(resealed(edit(content, ("mechanism", "weights"), weights)))
    with pytest.raises(StorageError, match="more than once"):
        from_json(resealed(edit(content, ("mechanism", "inputs"), ["a", "a"])))


# Files that cannot be read


@for_each(
    "data",
    [
        b"",
        b"{",
        b"not json",
        b"\xff\xfe",
        b'{"format": "mechdesign"}',
        b"[" * 100_000,
        b"1" * 5000,
        b"null",
    ],
)
def test_damaged_files_are_refused(data, tmp_path):
    path = tmp_path / "design.json"
    path.write_bytes(data)
    with pytest.raises(StorageError, match=r"design\.json"):
        md.load(path)


def test_a_cut_file_is_refused(found, tmp_path):
    path = tmp_path / "design.json"
    md.save(found, path)
    path.write_text(path.read_text()[:-30])
    with pytest.raises(StorageError, match="no JSON"):
        md.load(path)


@for_each("name", ["missing.json", ".", "x" * 300 + ".json", "missing/x.json"])
def test_files_that_are_not_there_are_refused(name, tmp_path):
    with pytest.raises(StorageError, match="check the path"):
        md.load(tmp_path / name)


# Writing: whole or not at all, and never over another file


def test_an_existing_file_is_kept_unless_told_otherwise(found, tmp_path):
    path = tmp_path / "design.json"
    path.write_text("precious")
    with pytest.raises(StorageError, match=r"expected a new file, got one that exists; .*--force"):
        md.save(found, path)
    assert path.read_text() == "precious"
    md.save(found, path, overwrite=True)
    assert md.load(path).mechanism == found.mechanism
    with pytest.raises(StorageError, match="exists"):
        write_csv(found.mechanism, path)


@pytest.mark.parametrize(
    ("name", "fragment"),
    [(".", "folder"), ("no/such/x.json", "create it first"), ("x" * 300 + ".json", "output")],
)
def test_places_that_cannot_be_written_are_refused(found, tmp_path, name, fragment):
    with pytest.raises(StorageError, match=fragment):
        md.save(found, tmp_path / name, overwrite=True)
    assert not list(tmp_path.iterdir())


def test_a_file_in_place_of_the_folder_is_refused(found, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError):
        md.save(found, tmp_path / "file" / "x.json")


@pytest.mark.parametrize("failing", ["replace", "fdopen", "chmod"])
def test_a_write_that_fails_leaves_nothing_behind(found, tmp_path, monkeypatch, failing):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    old = tmp_path / "old.json"
    old.write_text("precious")
    with monkeypatch.context() as patch:
        patch.setattr(os, failing, full)
        for path in (old, tmp_path / "new.json"):
            with pytest.raises(StorageError, match="No space left on device"):
                md.save(found, path, overwrite=True)
    assert [p.name for p in tmp_path.iterdir()] == ["old.json"]
    assert old.read_text() == "precious"


def test_an_interrupt_leaves_nothing_behind(found, tmp_path, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "link", stop)
        with pytest.raises(KeyboardInterrupt):
            md.save(found, tmp_path / "new.json")
        patch.setattr(os, "replace", stop)
        with pytest.raises(KeyboardInterrupt):
            md.save(found, tmp_path / "new.json", overwrite=True)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("step", "overwrite"), [("link", False), ("replace", True)])
def test_the_name_appears_only_when_the_file_is_complete(tmp_path, monkeypatch, step, overwrite):
    copies = []
    real = getattr(os, step)

    def watch(source, target):
        copies.append((os.path.exists(target), Path(source).read_text()))
        real(source, target)

    monkeypatch.setattr(os, step, watch)
    write_text("whole", tmp_path / "x.txt", overwrite=overwrite)
    assert copies == [(False, "whole")]
    assert (tmp_path / "x.txt").read_text() == "whole"


def test_files_are_as_readable_as_others_that_are_made_here(found, tmp_path):
    (tmp_path / "other").touch()
    md.save(found.mechanism, tmp_path / "kernel.json")
    with pytest.warns(CountsWarning):
        md.save(found, tmp_path / "public.json", public=True)
    modes = {stat.S_IMODE(p.stat().st_mode) for p in tmp_path.iterdir()}
    assert len(modes) == 1


# CSV


@given(
    st.lists(st.lists(st.floats(0, 1), min_size=3, max_size=3), min_size=1, max_size=4).filter(
        lambda rows: all(sum(row) > 0 for row in rows)
    )
)
def test_csv_kernels_read_back_as_the_same_floats(tmp_path_factory, rows):
    mechanism = Mechanism(rows, normalise=True)
    path = tmp_path_factory.mktemp("csv") / "kernel.csv"
    write_csv(mechanism, path)
    matrix, inputs, outputs = read_matrix(path)
    assert matrix.tobytes() == mechanism.kernel.tobytes()
    assert (tuple(inputs), tuple(outputs)) == (mechanism.inputs, mechanism.outputs)


def test_csv_of_a_design_gives_the_same_exact_kernel(found, tmp_path):
    write_csv(found.mechanism, tmp_path / "kernel.csv")
    matrix, inputs, outputs = read_matrix(tmp_path / "kernel.csv")
    assert Mechanism(matrix, inputs, outputs) == found.mechanism
    with open(tmp_path / "kernel.csv", newline="") as file:
        assert next(csv.reader(file)) == ["input", "a", "b", "c"]


@for_each("labels", [["a,b", 'c"d'], ["x\ny", "ü"], [0.5, 2.0], [-3, 4]])
def test_csv_labels_survive_commas_quotes_and_lines(labels, tmp_path):
    mechanism = Mechanism([[0.75, 0.25], [0.25, 0.75]], labels, labels)
    write_csv(mechanism, tmp_path / "kernel.csv")
    _, inputs, outputs = read_matrix(tmp_path / "kernel.csv")
    assert inputs == outputs == labels


def test_text_that_utf_8_cannot_hold_is_refused_and_leaves_nothing(tmp_path):
    mechanism = Mechanism([[1.0]], ["\udcff"])
    with pytest.raises(MechdesignError):
        write_csv(mechanism, tmp_path / "kernel.csv")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("certificate", "gap"), 5.0),
        (("certificate", "optimal"), False),
        (("certificate", "verdicts"), ["no"]),
        (("certificate", "achieved"), [[0.001]]),
        (("prior", "probabilities"), [1.0, 0.0, 0.0]),
    ],
)
def test_claims_that_the_numbers_do_not_bear_out_are_refused(content, path, value):
    with pytest.raises(StorageError, match=r"claims|probabilities stands"):
        from_json(resealed(edit(content, path, value)))


def test_duals_of_absurd_shape_are_refused(content):
    sparse = {"shape": [10**6, 10**6], "rows": [], "columns": [], "values": []}
    changed = edit(content, ("certificate", "duals", "multipliers"), [[sparse, sparse]])
    with pytest.raises(StorageError):
        from_json(resealed(changed))


def test_what_other_methods_found_is_written_and_never_read_back(tmp_path):
    """Nobody can tell invented rows from others without running the methods again."""
    found = md.design(md.Prior([0.5, 0.3, 0.2]), md.utility.Hamming(), md.PML(0.5), solver="all")
    md.save(found, tmp_path / "m.json")
    written = json.loads((tmp_path / "m.json").read_text())["agreement"]
    assert [row["method"] for row in written] == [row.method for row in found.agreement]
    again = md.load(tmp_path / "m.json")
    assert again.agreement == ()
    assert again.methods_agree is None
    assert "agree" not in repr(again)


@pytest.mark.parametrize("path", [3, None, ["m.json"]])
def test_names_that_are_no_names(path):
    found = md.design(md.Prior([0.6, 0.4]), md.utility.Hamming(), md.LDP(1))
    with pytest.raises(md.errors.StorageError, match="name of a file"):
        md.save(found, path)


def test_the_share_of_a_kernel_inside_is_kept(tmp_path):
    """Under requirements no constant mass is mixed in, and the file does not say so either."""
    rare = md.Prior([0.5, 0.5 - 1e-11, 1e-11], ["a", "b", "c"])
    asked = md.require.invariant()
    found = md.design(rare, md.utility.Hamming(), md.LDP(1), subject_to=asked)
    repair = found.certificate.repair
    assert repair.inside > 0 == repair.mixed
    md.save(found, tmp_path / "m.json")
    assert md.load(tmp_path / "m.json").certificate.repair == repair
    content = json.loads((tmp_path / "m.json").read_text())
    assert content["certificate"]["repair"]["inside"] == repair.inside
