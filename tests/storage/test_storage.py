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

import pytest
from checks import for_each
from hypothesis import given
from hypothesis import strategies as st

import mechdesign as md
from mechdesign import ALIP, LDP, LIP, PMC, PML, Mechanism, Prior
from mechdesign.certificate import verify
from mechdesign.errors import CountsWarning, MechdesignError, StorageError, ZeroMassWarning
from mechdesign.exact import write_fraction
from mechdesign.files import write_text
from mechdesign.kernel_files import write_csv
from mechdesign.storage import from_json, to_json
from mechdesign.tables.matrices import read_matrix
from mechdesign.utility import BayesGain, Distance, Hamming, Matrix

ABC = Prior([0.5, 0.3, 0.2], ["a", "b", "c"])
STEPS = Prior([0.1, 0.2, 0.3, 0.4], [0, 1, 2.5, 10])
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ZeroMassWarning)
    EMPTY = Prior([0.5, 0, 0.5], ["a", "b", "c"])
CASES = {
    "unbounded": (ABC, Hamming(), [PML(math.inf), LDP(1)]),
    "alip": (ABC, Hamming(), ALIP(0.9, 0.25)),
    "one side": (ABC, Hamming(), ALIP(math.inf, 0.3)),
    "zero": (ABC, Hamming(), LDP(0)),
    "several": (ABC, Hamming(), [PML(0.5), LDP(2), PMC(0.7)]),
    "no mass": (EMPTY, Hamming(), PML(0.4)),
    "absolute": (STEPS, Distance("absolute"), LIP(0.4)),
    "squared": (STEPS, Distance("squared"), LIP(0.4)),
    "function": (STEPS, Distance(lambda x, y: abs(x - y) ** 0.5), LIP(0.4)),
    "matrix": (ABC, Matrix([[1, 0], [0.25, 0.5], [-1 / 3, 1]], ["yes", "no"]), LIP(0.4)),
    "gain": (ABC, BayesGain([[1, 0, 0.5], [0, 1, 0.5], [0.3, 0.3, 0.5]]), LIP(0.4)),
}


def as_file(designed):
    """What is in the file, as plain JSON values."""
    return json.loads(json.dumps(to_json(designed)))


def digest_of(content):
    """The digest as a stranger would compute it, from the format alone."""
    kept = {key: value for key, value in content.items() if key != "digest"}
    text = json.dumps(kept, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def edited(content, *changes):
    """A copy with places changed, and a digest that fits; a function changes what it finds."""
    changed = copy.deepcopy(content)
    for path, value in changes:
        part = changed
        for key in path[:-1]:
            part = part[key]
        part[path[-1]] = value(part[path[-1]]) if callable(value) else value
    return {**changed, "digest": digest_of(changed)}


@pytest.fixture(scope="module")
def found():
    return md.design(ABC, Hamming(), PML(0.4))


@pytest.fixture
def content(found):
    return as_file(found)


# Round trips


@for_each("name", CASES)
def test_designs_come_back_in_silence_with_all_that_they_say(name, tmp_path):
    made = md.design(*CASES[name], solver="highs-ipm" if name == "absolute" else "auto")
    md.save(made, tmp_path / "design.json")
    json.loads((tmp_path / "design.json").read_text(), parse_constant=pytest.fail)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = md.load(tmp_path / "design.json")
    one, two = as_file(again), as_file(made)
    gains = one["utility"].pop("gains", None), two["utility"].pop("gains", None)
    assert gains[0] == gains[1]
    if name in ("function", "gain"):  # these come back as a matrix of gains
        one, two = ({**part, "utility": 0, "digest": 0} for part in (one, two))
    assert one == two
    assert (again.prior, again.notions, again.mechanism) == (
        made.prior, made.notions, made.mechanism,
    )  # fmt: skip
    assert (again.value, again.bound, again.gap) == (made.value, made.bound, made.gap)
    assert again.certificate.repair == made.certificate.repair
    assert md.audit(again).checks == md.audit(made).checks


LABELS = {
    "texts": ["", "ü \n\"'\u2028"],
    "integers": [10**30, 7],
    "floats": [0.5, -1e300],
    "infinite": [math.inf, -math.inf],
    "tuples": [("a", 1), ("a", ("b", 2.5))],
    "empty": [(), ("x",)],
    "none": [True, None],
    "dates": [dt.date(2020, 1, 2), dt.date(1, 1, 1)],
    "timestamps": [dt.datetime(2020, 1, 2, 3, 4, 5, 6), dt.datetime(2020, 1, 2)],
    "zones": [dt.datetime(2020, 1, day, tzinfo=zone) for day, zone in (
        (2, dt.UTC), (3, dt.timezone(dt.timedelta(hours=2)))
    )],
    "times": [dt.time(1), dt.time(2, 3, 4, 5)],
    "decimals": [Decimal("1.50"), Decimal("-2E+3")],
    "bytes": [b"", b"\0a"],
    "fractions": [Fraction(1, 3), Fraction(2)],
    "truth values": [True, False],
    "mixed tuples": [(dt.date(2020, 1, 2), Decimal("0.1")), (None, b"a")],
}  # fmt: skip


@for_each("kind", LABELS)
def test_labels_of_every_type_are_saved_loaded_and_verified(kind, tmp_path):
    labels = LABELS[kind]
    prior, levels = Prior([0.6, 0.4], labels), dict(zip(labels, (0.5, 1), strict=True))
    notion = LDP(1) if kind == "infinite" else md.SymbolPML(1, levels)
    made = md.design(prior, md.utility.Estimation(), notion)
    md.save(made, tmp_path / "x.json")
    again = md.load(tmp_path / "x.json")
    assert again.mechanism == made.mechanism
    assert repr(again.prior.labels) == repr(prior.labels)
    assert prior.labels == tuple(labels)
    if not {tuple, type(None)} & set(map(type, labels)):
        assert set(map(type, made.mechanism.outputs)) == {type(labels[0])}
    assert verify.check((tmp_path / "x.json").read_bytes()).state == verify.PROVED


@given(
    st.lists(st.lists(st.floats(0, 1), min_size=2, max_size=2), min_size=1, max_size=4).filter(
        lambda rows: all(sum(row) > 0 for row in rows)
    ),
    st.integers(0, 3),
)
def test_any_kernel_comes_back_bit_for_bit(tmp_path_factory, rows, doubled):
    """Also with integers of many digits, and as floats in CSV."""
    made = Mechanism(rows, normalise=True)
    if len(rows) == 2:
        for _ in range(doubled):
            made = made @ made
    again = from_json(as_file(made))
    assert (again, again.row_error) == (made, made.row_error)
    assert again.kernel.tobytes() == made.kernel.tobytes()
    path = tmp_path_factory.mktemp("csv") / "kernel.csv"
    write_csv(made, path)
    matrix, inputs, outputs = read_matrix(path)
    assert matrix.tobytes() == made.kernel.tobytes()
    assert (tuple(inputs), tuple(outputs)) == (made.inputs, made.outputs)


@for_each("labels", [["a,b", 'c"d'], ["x\ny", "ü"], [0.5, 2.0], [-3, 4]])
def test_labels_in_csv_survive_commas_quotes_and_lines(labels, tmp_path):
    write_csv(Mechanism([[0.75, 0.25], [0.25, 0.75]], labels, labels), tmp_path / "kernel.csv")
    _, inputs, outputs = read_matrix(tmp_path / "kernel.csv")
    assert inputs == outputs == labels
    with open(tmp_path / "kernel.csv", newline="") as file:
        assert next(csv.reader(file)) == ["input", *map(str, labels)]


# The file


def test_the_file_is_what_its_format_says(found, content):
    assert (content["format"], content["schema"]) == ("mechdesign", 1)
    assert content["version"] == md.__version__
    assert content["prior"]["labels"] == ["a", "b", "c"]
    assert content["notions"] == [{"name": "PML", "parameters": {"epsilon": 0.4}}]
    assert content["utility"]["name"] == "hamming"
    proof = content["certificate"]
    assert (proof["verdicts"], proof["value"], proof["bound"]) == (
        ["yes"], found.value, found.bound,
    )  # fmt: skip
    assert content["digest"] == digest_of(content)
    part = content["mechanism"]
    rows = [
        [Fraction(int(w), 2 ** part["denominator_bits"]) for w in row] for row in part["weights"]
    ]
    assert rows == [[Fraction(v) for v in row] for row in found.mechanism.kernel.tolist()]
    assert all(sum(row) == 1 for row in rows)


@for_each(
    ("value", "said"),
    [
        *((value, "expected a Design or a Mechanism") for value in (5, None, [[1.0]], ABC)),
        *(
            (Mechanism([[1.0]], [(1, label)]), "relabel before saving")
            for label in (frozenset({1}), Decimal("Infinity"), dt.time(1, tzinfo=dt.timezone.max))
        ),
        (Mechanism([[1.0]], ["\udcff"]), "json"),
    ],
)
def test_what_has_no_form_in_a_file_is_refused(value, said, tmp_path):
    if said == "json":  # JSON has an escape for it, and CSV none
        with pytest.raises(MechdesignError):
            write_csv(value, tmp_path / "kernel.csv")
    else:
        with pytest.raises(StorageError, match=said or None):
            md.save(value, tmp_path / "x.json")
    assert not list(tmp_path.iterdir())


def test_what_other_methods_found_is_written_and_never_read_back():
    """Nobody can tell invented rows from others without running the methods again."""
    made = md.design(ABC, Hamming(), PML(0.5), solver="all")
    written = as_file(made)["agreement"]
    assert [row["method"] for row in written] == [row.method for row in made.agreement]
    again = from_json(as_file(made))
    assert (again.agreement, again.methods_agree) == ((), None)


def test_the_share_of_a_kernel_inside_is_kept():
    """Under requirements no constant mass is mixed in, and the file does not say so either."""
    rare = Prior([0.5, 0.5 - 1e-11, 1e-11], ["a", "b", "c"])
    made = md.design(rare, Hamming(), LDP(1), subject_to=md.require.invariant())
    repair, content = made.certificate.repair, as_file(made)
    assert repair.inside > 0 == repair.mixed
    assert from_json(content).certificate.repair == repair
    assert content["certificate"]["repair"]["inside"] == repair.inside


# Altered files


def moved(row):
    """Weights that lean more to the first output, with the same sum."""
    amount = 2**40
    return [str(int(row[0]) + amount), str(int(row[1]) - amount), *row[2:]]


WEIGHTS, LEVEL = ("mechanism", "weights", 0), ("notions", 0, "parameters", "epsilon")
CLAIMS = "certificate"
SPARSE = {"shape": [10**6, 10**6], "rows": [], "columns": [], "values": []}
#: Places that are changed, with what stands there instead, and what is said of it.
ALTERED = [
    ([(WEIGHTS, moved)], r"altered .*PML\(0.4\) is no"),
    *(([(LEVEL, level)], "altered") for level in (0.3999, 0, 0.0)),
    ([(("notions", 0, "name"), "LDP")], r"altered .*LDP\(0.4\) is no"),
    ([(("notions", 0, "name"), "Psychic")], r"'Psychic' is not known here; import the module"),
    ([(("prior", "weights"), lambda w: w[::-1])], ""),
    ([(("prior", "probabilities"), [1.0, 0.0, 0.0])], "probabilities stands"),
    *(
        ([((CLAIMS, claim), value)], f"claims {claim}")
        for claim in ("value", "bound")
        for value in (0.0, 0.999, 1e9, math.nan, math.inf)
    ),
    *(([((CLAIMS, "gap"), gap)], "claims") for gap in (5.0, -1.0)),
    ([((CLAIMS, "optimal"), False)], "claims optimal"),
    ([((CLAIMS, "verdicts"), ["no"])], "claims verdicts"),
    ([((CLAIMS, "achieved"), [[0.001]])], "claims achieved"),
    ([((CLAIMS, "fingerprint"), "0" * 64)], "fingerprint"),
    (
        [(place, ["x", "y", "z"]) for place in (
            ("prior", "labels"), ("mechanism", "inputs"), ("mechanism", "outputs")
        )],
        "fingerprint",
    ),
    ([((CLAIMS, "duals", "multipliers"), [[SPARSE, SPARSE]])], ""),
    *(
        ([(("schema",), schema)], r"expected schema version 1 or 2, got .*upgrade")
        for schema in (0, 3, "1", None, 1.5)
    ),
    *(([(("kind",), kind)], "") for kind in ("sampler", "", None, "Design")),
    *(
        ([(("mechanism", "denominator_bits"), bits)], "")
        for bits in (-1, "x", None, 10**30, math.inf, 1.5, 52)
    ),
]  # fmt: skip


@for_each(("changes", "said"), ALTERED)
def test_altered_files_are_refused_whatever_their_digest(content, changes, said):
    changed = edited(content, *changes)
    with pytest.raises(StorageError, match=said or None):
        from_json(changed)
    with pytest.raises(StorageError, match=r"do not match their digest|schema version"):
        from_json({**changed, "digest": content["digest"]})


def test_one_unit_in_2_to_the_53_is_enough_to_fail(content):
    """A level set to what the kernel achieves leaves no room at all."""
    achieved = content["certificate"]["achieved"][0][0]
    with pytest.raises(StorageError, match=r"altered .*is no"):
        from_json(edited(content, (LEVEL, math.nextafter(achieved, 0))))


def test_a_bound_that_another_version_rounds_otherwise_is_proved_again(found, content):
    """What is proved here is kept where it is a little better; what claims more is refused."""

    def claiming(off):
        bound = found.bound * (1 + off)
        exact = write_fraction(Fraction(bound))
        return edited(content, ((CLAIMS, "bound"), bound), ((CLAIMS, "bound_exact"), exact))

    assert as_file(from_json(claiming(3e-14))) == content
    for off in (-1e-9, -3e-14, 1e-9):
        with pytest.raises(StorageError, match="claims bound"):
            from_json(claiming(off))


def test_edited_duals_cannot_lower_the_bound(content):
    """Duals that are worse give a higher bound than the file claims; none gives a lower one."""
    for prices in ([0.0, 0.0, 0.0], [1e6, -1e6, 3.0], [-1.0, -1.0, -1.0]):
        try:
            again = from_json(edited(content, ((CLAIMS, "duals", "prices"), prices)))
        except StorageError:
            continue
        assert again.bound >= again.value


def test_kernels_are_checked_as_well():
    content = as_file(Mechanism([[0.75, 0.25], [0.25, 0.75]]))
    for weights in ([["3", "2"], ["1", "3"]], [["5", "-1"], ["1", "3"]], [["3"], ["1", "3"]], []):
        with pytest.raises(StorageError):
            from_json(edited(content, (("mechanism", "weights"), weights)))
    with pytest.raises(StorageError, match="more than once"):
        from_json(edited(content, (("mechanism", "inputs"), ["a", "a"])))


# Files that cannot be read


@for_each("value", [None, [], 5, "text", {}, {"format": "other"}])
def test_other_json_is_refused(value):
    with pytest.raises(StorageError, match="expected a file written by mechdesign"):
        from_json(value)


@for_each(
    "data", [b"", b"{", b"\xff\xfe", b'{"format": "mechdesign"}', b"[" * 100_000, b"1" * 5000]
)
def test_damaged_files_are_refused(found, data, tmp_path):
    path = tmp_path / "design.json"
    path.write_bytes(data)
    with pytest.raises(StorageError, match=r"design\.json"):
        md.load(path)
    md.save(found, path, overwrite=True)
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
    with pytest.raises(StorageError, match="exists"):
        write_csv(found.mechanism, path)
    assert path.read_text() == "precious"
    md.save(found, path, overwrite=True)
    assert md.load(path).mechanism == found.mechanism


@for_each(
    ("name", "said"),
    [
        (".", "folder"),
        ("no/such/x.json", "create it first"),
        ("x" * 300 + ".json", "output"),
        ("file/x.json", ""),
        *((name, "name of a file") for name in (3, None, ["m.json"])),
    ],
)
def test_places_that_cannot_be_written_are_refused(found, tmp_path, name, said):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match=said or None):
        md.save(found, tmp_path / name if isinstance(name, str) else name, overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def stopped(*_):
    raise KeyboardInterrupt


def full(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device")


@for_each(
    ("step", "failure", "overwrite"),
    [
        *((step, full, True) for step in ("replace", "fdopen", "chmod")),
        ("link", stopped, False),
        ("replace", stopped, True),
    ],
)
def test_a_write_that_fails_or_is_stopped_leaves_nothing_behind(
    found, tmp_path, monkeypatch, step, failure, overwrite
):
    old = tmp_path / "old.json"
    old.write_text("precious")
    paths = [old, tmp_path / "new.json"] if overwrite else [tmp_path / "new.json"]
    with monkeypatch.context() as patch:
        patch.setattr(os, step, failure)
        for path in paths:
            with pytest.raises((StorageError, KeyboardInterrupt), match=r"No space left|^$"):
                md.save(found, path, overwrite=overwrite)
    assert [p.name for p in tmp_path.iterdir()] == ["old.json"]
    assert old.read_text() == "precious"


@for_each(("step", "overwrite"), [("link", False), ("replace", True)])
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
    assert len({stat.S_IMODE(p.stat().st_mode) for p in tmp_path.iterdir()}) == 1
