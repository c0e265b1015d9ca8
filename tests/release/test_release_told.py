"""What reports cannot tell is said before anything is spent; nonsense is refused, not printed."""

from __future__ import annotations

import json

import numpy as np
import pytest
from checks import for_each, refused, slow_but

import mechdesign as md
from mechdesign.errors import (
    CountsWarning,
    DataError,
    InputError,
    RepeatWarning,
    UntoldWarning,
)
from mechdesign.inference.likelihood import maximise
from mechdesign.kernel_files import load_kernel
from mechdesign.views.pages import estimable_lines

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

LABELS = ["a", "b", "c"]
PRIOR = md.Prior([0.8, 0.1, 0.1], LABELS)
USELESS = md.design(PRIOR, md.utility.Hamming(), md.LDP(1))
USEFUL = md.design(md.Prior.uniform(LABELS), md.utility.Hamming(), md.LDP(1))
NOTHING = "reports tell none of the 3 symbols apart"


@pytest.fixture
def run(run):
    md.save(USELESS, "useless.json")
    md.save(USEFUL, "useful.json")
    pd.DataFrame({"x": ["a"] * 1600 + ["b"] * 200 + ["c"] * 200}).to_csv("people.csv", index=False)
    return run


def test_a_useless_design_is_said_to_be_one_when_it_is_made_and_before_it_is_applied(run):
    prior = "a=0.8,b=0.1,c=0.1"
    code, _, err = run("design", "--prior", prior, "--privacy", "ldp:1", "-u", "hamming")
    assert code == 0
    assert NOTHING in err
    assert "-u estimation" in err  # what to do
    code, out, err = run("design", "--prior", prior, "--privacy", "ldp:3")
    assert code == 0
    assert "apart" not in out + err  # a control
    arguments = ["people.csv", "--column", "x", "--force", "-o", "reports.csv"]
    code, _, err = run("apply", "useless.json", *arguments)
    assert code == 0
    assert NOTHING in err.split("saved")[0]
    with pytest.warns(UntoldWarning, match=NOTHING):
        md.privatize(pd.DataFrame({"x": LABELS}), "x", USELESS)
    assert "apart" not in run("apply", "useful.json", *arguments)[2]  # a control
    md.save(md.Mechanism([[0.8, 0.2], [0.2, 0.8], [0.2, 0.8]], LABELS, ["a", "b"]), "merged.json")
    err = run("apply", "merged.json", *arguments)[2]
    assert "reports tell 2 groups apart, not all 3 symbols" in err
    assert "('b', 'c')" in err


def test_weighted_sums_are_something_even_where_no_group_is_told_apart():
    mixed = md.Mechanism([[0.75, 0.25], [0.25, 0.75], [0.5, 0.5]], LABELS, ["a", "b"])
    found = md.identifiability(mixed)
    assert (found.rank, len(found.blocks)) == (2, 1)
    assert not found.tells_nothing
    assert "only 1 weighted sum of their shares" in found.advice
    reports = {"a": 1000, "b": 1000}
    refused(lambda: md.estimate(reports, mixed, by="blocks"), "tell none", error=DataError)
    # P(a) - P(b), which is 2 (P(report a) - P(report b)).
    made = md.estimate(reports, mixed, feature={"a": 1.0, "b": -1.0, "c": 0.0})
    assert made["mean"] == pytest.approx(0, abs=1e-9)
    md.privatize(pd.DataFrame({"x": LABELS}), "x", mixed)  # no warning


def test_an_estimate_or_a_plan_over_one_block_is_none(run):
    reports, same = {"a": 2000}, dict.fromkeys(LABELS, "all")
    for options in ({"by": "blocks"}, {}):
        refused(lambda o=options: md.estimate(reports, USELESS, **o), NOTHING[7:], error=DataError)
    refused(lambda: md.estimate(reports, USELESS, feature=same), "differ", error=DataError)
    pairs = {("a", "a"): 2000}
    refused(lambda: md.estimate_joint(pairs, [USELESS, USEFUL], by="blocks"), NOTHING[7:])
    pd.DataFrame({"x": ["a"] * 2000}).to_csv("reports.csv", index=False)
    for command in (
        "estimate useless.json reports.csv --column x",
        "plan useless.json --error .01",
    ):
        code, out, err = run(*command.split(), "--by", "blocks")
        assert (code, out) == (2, "")
        assert NOTHING[7:] in err
    sure = md.Mechanism(np.eye(2))
    assert md.plan(sure, error=0.9, worst=True).reports == 10  # as many as an estimate takes


@pytest.mark.slow
def test_the_page_says_what_can_be_estimated():
    pytest.importorskip("jinja2")
    from mechdesign.views.pages import report_page

    assert "can be estimated from any number of them" in estimable_lines(USELESS.mechanism)[0]
    page = report_page(USELESS)
    assert "Reports tell none of the 3 symbols apart" in page
    assert "these are the counts of the people themselves" in page
    page = report_page(USEFUL)
    assert "Reports tell the 3 values apart" in page
    assert "counts of the people" not in page


# Reports that the mechanism did not make


def test_raw_data_is_refused_instead_of_estimated_from(run):
    raw = {"a": 1600, "b": 200, "c": 200}
    for method in ("inversion", "likelihood"):
        refused(
            lambda m=method: md.estimate(raw, USEFUL, method=m),
            "raw data",
            "misfit=",
            error=DataError,
        )
    with pytest.warns(md.errors.MisfitWarning, match="probability"):
        made = md.estimate(raw, USEFUL, misfit="warn")
    assert made.lower[0] < made.projected[0] == made.upper[0] == 1 < made["a"]
    arguments = ["estimate", "useful.json", "people.csv", "--column", "x"]
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert "raw data" in err
    code, _, err = run(*arguments, "--misfit", "warn")
    assert code == 0
    assert "warning: such reports have probability" in err
    pairs = {(x, y): n * m // 2000 for x, n in raw.items() for y, m in raw.items()}
    refused(lambda: md.estimate_joint(pairs, [USEFUL, USEFUL]), "column 'first'", error=DataError)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::mechdesign.errors.PrecisionWarning")
@for_each("people", slow_but(1, [[1, 0, 0], [0, 1, 0], [0.5, 0.5, 0], [1 / 3, 1 / 3, 1 / 3]]))
def test_honest_reports_are_not_refused(people):
    """At the corners and edges, where noise leaves what is possible every other time."""
    rng = np.random.default_rng(11)
    for n in (10, 300, 20_000):
        drawn = rng.multinomial(n, np.array(people) @ USEFUL.mechanism.kernel, 300)
        for counts in drawn:
            reports = dict(zip(USEFUL.mechanism.outputs, counts.tolist(), strict=True))
            md.estimate(reports, USEFUL, target="sample")


def test_reports_beyond_number_are_not_refused_for_rounding():
    exact = np.array([0.5, 0.3, 0.2]) @ USEFUL.mechanism.kernel
    counts = [int(share * 2**50) for share in exact]
    reports = dict(zip(USEFUL.mechanism.outputs, counts, strict=True))
    assert md.estimate(reports, USEFUL).fit > 0.01
    assert (
        maximise(USEFUL.mechanism.kernel, exact[None, :])[1][0] > 0
    )  # there is a gap to allow for


# Receipts


def test_reports_without_a_receipt_are_said_to_be(run):
    """LDP(1) reports read with the kernel of LDP(2) fit it, so that only a receipt can tell."""
    other = md.design(md.Prior.uniform(LABELS), md.utility.Hamming(), md.LDP(2))
    frame = pd.DataFrame({"id": range(3000), "x": LABELS * 1000})
    made = md.privatize(frame, "x", USEFUL, rng=1)
    assert md.estimate(made, USEFUL, "x").note == ""
    assert md.estimate(made, USEFUL, "x").receipt.notions == ("LDP(1)",)
    refused(lambda: md.estimate(made, other, "x"), "another", error=DataError)
    lost = made.merge(frame[["id"]], on="id")
    found = md.estimate(lost, other, "x")
    assert "could not be told" in found.note
    assert "could not be told" in repr(found)
    assert found.receipt is None
    md.save_receipt(made, "receipt.json")
    refused(lambda: md.estimate(lost, other, "x", receipt="receipt.json"), "another")
    assert md.estimate(lost, USEFUL, "x", receipt="receipt.json").note == ""
    lost.to_csv("lost.csv", index=False)
    arguments = ["lost.csv", "--column", "x"]
    md.save(other, "other.json")
    code, _, err = run("estimate", "other.json", *arguments)
    assert code == 0
    assert "could not be told" in err
    code, _, err = run("estimate", "other.json", *arguments, "--receipt", "receipt.json")
    assert code == 2
    assert "another" in err
    code, out, err = run(
        "estimate", "useful.json", *arguments, "--receipt", "receipt.json", "--json"
    )
    assert (code, err) == (0, "")
    assert json.loads(out)["receipt"]["notions"] == ["LDP(1)"]


def test_a_receipt_does_not_speak_for_rows_from_elsewhere():
    pa = pytest.importorskip("pyarrow")
    other = md.design(md.Prior.uniform(LABELS), md.utility.Hamming(), md.LDP(2))
    table = pa.table({"x": LABELS * 100})
    both = pa.concat_tables([md.privatize(table, "x", m, rng=1) for m in (USEFUL, other)])
    assert "is of 300 of 600" in md.estimate(both, USEFUL, "x").note
    assert md.estimate(both.slice(0, 200), USEFUL, "x").note == ""


def test_a_receipt_can_be_asked_for_with_any_table(tmp_path):
    pl = pytest.importorskip("polars")
    path = tmp_path / "receipt.json"
    frame = pl.DataFrame({"x": LABELS * 100})
    for table in (frame, frame.lazy()):
        path.unlink(missing_ok=True)
        made = md.privatize(table, "x", USEFUL, receipt=path)
        assert "could not be told" in md.estimate(made, USEFUL, "x").note
        assert md.estimate(made, USEFUL, "x", receipt=path).note == ""
    with pytest.raises(md.errors.StorageError, match="exists"):
        md.privatize(frame, "x", USEFUL, receipt=path)
    refused(lambda: md.save_receipt(frame, tmp_path / "r.json"), "without", error=DataError)
    refused(lambda: md.estimate(frame, USEFUL, "x", receipt=3), "receipt")
    path.write_text("{}")
    refused(lambda: md.estimate(frame, USEFUL, "x", receipt=path), "something else")


def test_reports_under_another_name_are_not_privatised_again():
    pa = pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"id": range(300), "x": LABELS * 100})
    made = md.privatize(frame, "x", USEFUL)
    renamed = made.rename(columns={"x": "y"})
    refused(lambda: md.privatize(renamed, "y", USEFUL), "by the receipt", error=DataError)
    assert md.estimate(renamed, USEFUL, "y").receipt.column == "x"
    md.privatize(renamed.assign(z=frame["x"]), "z", USEFUL)  # a control
    table = md.privatize(pa.Table.from_pandas(frame), "x", USEFUL)
    renamed = table.rename_columns(["id", "y"]).replace_schema_metadata(table.schema.metadata)
    refused(lambda: md.privatize(renamed, "y", USEFUL), "by the receipt", error=DataError)


# The public form


def test_commands_take_the_public_form(run, tmp_path):
    found = md.design(md.Prior.uniform(LABELS), md.utility.Hamming(), md.LDP(3))
    md.save(found, "d.json")
    code, _, err = run("check", "d.json", "--public", "public.json")
    assert code == 0
    assert "saved public.json" in err
    text = (tmp_path / "public.json").read_text()
    assert "prior" not in text
    public = md.load("public.json")
    assert (public, public.notions) == (found.mechanism, found.notions)
    md.save(found, "same.json", public=True)
    assert (tmp_path / "same.json").read_text() == text
    arguments = ["public.json", "people.csv", "--column", "x", "-o", "reports.csv"]
    code, out, err = run("apply", *arguments)
    assert code == 0
    assert "LDP(3)" in out
    code, _, err = run("estimate", "public.json", "reports.csv", "--column", "x")
    assert code == 0, err
    assert "could not be told" not in err
    assert run("estimate", "d.json", "reports.csv", "--column", "x")[0] == 0
    assert run("plan", "public.json", "--error", 0.05)[0] == 0
    code, out, _ = run("compose", "public.json", "--times", 2)
    assert out == "2 reports together: LDP(6)\n"
    code, out, err = run("audit", "public.json")
    assert code == 0
    assert "LDP(3): yes" in out
    assert "under the uniform one" in err


def test_what_a_public_form_cannot_tell_is_said(run):
    prior = md.Prior([0.5, 0.3, 0.2], LABELS)
    found = md.design(prior, md.utility.Hamming(), [md.PML(0.5), md.LDP(2)])
    with pytest.warns(CountsWarning, match=r"tells: one share .* by 'PML\(0.5\)'"):
        md.save(found, "public.json", public=True)
    code, out, err = run("audit", "public.json")
    assert (code, out) == (2, "")
    assert "the prior that PML(0.5) is about" in err
    assert "holds none" in err
    assert run("audit", "public.json", "--privacy", "ldp:2")[0] == 0
    assert run("audit", "public.json", "--prior", "a=0.5,b=0.3,c=0.2")[0] == 0
    assert "stated by its maker" in run("check", "public.json")[1]
    code, out, _ = run("compose", "public.json")
    assert code == 0
    assert "PML" not in out


def test_shares_of_the_very_counts_are_warned_of(run):
    shares = pd.Series([0.1, 0.1, 0.8], ["c", "b", "a"])
    found = md.design(md.Prior(list(shares), list(shares.index)), md.utility.Hamming(), md.LDP(3))
    with pytest.warns(CountsWarning, match="made from the counts of this very column"):
        md.privatize_file("people.csv", "r.csv", "x", found)
    other = md.design(md.Prior([0.8001, 0.0999, 0.1], LABELS), md.utility.Hamming(), md.LDP(3))
    with pytest.warns(RepeatWarning):  # and of no counts
        md.privatize_file("people.csv", "s.csv", "x", other)


def test_a_public_form_whose_kernel_tells_the_masses_is_warned_of(run):
    """Under PML(½) the report "a" alone rules out others, and the masses follow from its row."""
    prior = md.Prior.from_counts({"a": 613, "b": 250, "c": 137})
    found = md.design(prior, md.utility.Hamming(), md.PML(0.5))
    kernel = found.mechanism.kernel
    mass = (1 - np.exp(-0.5)) / (1 - kernel[0, 1])
    assert round(1000 * mass) == 613
    with pytest.warns(CountsWarning, match="one share of the prior to 3 digits, which are all"):
        md.save(found, "public.json", public=True)
    md.save(found, "d.json")
    assert "one share of the prior to 3 digits" in run("check", "d.json", "--public", "p.json")[2]
    free = md.design(prior, md.utility.Hamming(), md.LDP(1))
    md.save(free, "free.json", public=True)  # a control: warnings are errors here


def test_a_public_form_holds_no_priors_of_its_notions(run, tmp_path):
    """Parameters of notions may be counts, and so may be found from a hash of them."""
    sets = [{"a": 1601, "b": 207, "c": 193}, {"a": 1600, "b": 208, "c": 193}]
    prior = md.Prior([0.6, 0.25, 0.15], LABELS)
    one, two = (
        md.design(prior, md.utility.Hamming(), [md.RobustPML.from_counts(9, counts), md.LDP(2)])
        for counts in sets
    )
    assert one.mechanism == two.mechanism
    for designed, name in ((one, "1.json"), (two, "2.json")):
        with pytest.warns(CountsWarning):
            md.save(designed, name, public=True)
    text = (tmp_path / "1.json").read_text()
    assert text == (tmp_path / "2.json").read_text()
    assert "fraction" not in text
    public = md.load("1.json")
    assert (public.notions, public.stated) == ((md.LDP(2),), ("RobustPML(9)",))
    frame = pd.DataFrame({"x": LABELS * 10})
    made = [md.privatize(frame, "x", designed, rng=1).attrs for designed in (one, two, public)]
    assert made[0] == made[1] == made[2]
    assert "RobustPML(9)" in str(made[0])
    code, _, err = run("audit", "1.json")
    assert code == 2
    assert "the prior that RobustPML(9) is about" in err
    assert "LDP(4)" in str(md.compose(public, times=2))


def test_receipts_hold_no_hash_of_the_prior(run, tmp_path):
    """With few people the counts could be found from such a hash by trying."""
    one = md.design(md.Prior.from_counts({"a": 5, "b": 3, "c": 2}), md.utility.Hamming(), md.LDP(4))
    two = md.design(md.Prior.from_counts({"a": 4, "b": 3, "c": 3}), md.utility.Hamming(), md.LDP(4))
    assert one.mechanism == two.mechanism
    assert one.certificate.fingerprint != two.certificate.fingerprint
    frame = pd.DataFrame({"x": LABELS * 10})
    md.privatize(frame, "x", one, rng=1, receipt="1.json")
    md.privatize(frame, "x", two, rng=1, receipt="2.json")
    assert (tmp_path / "1.json").read_text() == (tmp_path / "2.json").read_text()
    assert one.certificate.fingerprint not in (tmp_path / "1.json").read_text()


# Values of the data


BROKEN = [
    "x,y\nHIV,1\nno,2\n",
    "x,y\nno,2\nHIV\n",
    "x,y\nno,1,HIV\n",
    'x,y\nno,"1\nHIV,2\n',
    'x,y\n"no,2\nHIV,3\n',
    b"x,y\nno,\xffHIV\n",
]


@for_each("text", BROKEN)
def test_no_message_quotes_a_value_of_a_file(tmp_path, text):
    flip = md.Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"], ["no", "yes"])
    source = tmp_path / "a.csv"
    source.write_bytes(text if isinstance(text, bytes) else text.encode())
    found = []
    for act in (
        lambda: md.privatize_file(source, tmp_path / "b.csv", "x", flip),
        lambda: md.Prior.from_csv(source, "y", weights="x"),
        lambda: load_kernel(source),
    ):
        with pytest.raises(md.MechdesignError) as caught:
            act()
        found.append(str(caught.value))
    assert "HIV" not in "".join(found)


def test_no_message_quotes_a_value_of_a_table():
    flip = md.Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"], ["no", "yes"])
    secrets = ["no", "yes", "HIV"] * 20
    frame = pd.DataFrame({"x": secrets})
    for act in (
        lambda: md.privatize(frame, "x", flip),
        lambda: md.estimate(frame, flip, "x"),
        lambda: md.estimate(secrets, flip),
        lambda: md.estimate(frame.assign(x=[["HIV"]] * 60), flip, "x"),
        lambda: md.estimate(frame["x"].value_counts().to_dict(), flip),
        lambda: md.estimate_joint(frame.assign(y=frame["x"]), [flip, flip], ["x", "y"]),
        lambda: md.estimate_joint({"HIV": 3}, [flip, flip]),
        lambda: md.Sampler(flip).draw(secrets),
        lambda: md.Sampler(flip).draw("HIV"),
        lambda: md.Prior.from_data([["HIV"], ["no"]]),
    ):
        found = refused(act)
        assert "HIV" not in str(found)
        assert not any("HIV" in str(part) for part in (found.expected, found.got, found.remedy))


def test_what_is_wrong_with_a_lazy_table_is_said_before_anything_is_drawn():
    """Its identities and symbols are looked at when it is privatised."""
    pl = pytest.importorskip("polars")
    flip = md.Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"], ["no", "yes"])
    frame = pl.DataFrame({"id": [1, 2, 3], "x": ["no", "yes", "HIV"]}).lazy()
    with pytest.raises(DataError, match="got 1 other value in 1 of the") as caught:
        md.privatize(frame, "x", flip, row="id", key=bytes(32))
    assert "HIV" not in str(caught.value)


def test_values_are_quoted_where_that_is_asked_for(run):
    pd.DataFrame({"x": ["a", "secret"]}).to_csv("odd.csv", index=False)
    arguments = ["apply", "useful.json", "odd.csv", "--column", "x", "-o", "r.csv"]
    code, _, err = run(*arguments)
    assert code == 2
    assert "secret" not in err.replace("the secret", "")
    assert "'secret'" in run(*arguments, "--show-values")[2]
    assert "'secret'" not in run(*arguments)[2]  # it does not last


@for_each("name", [{"x"}, {"x": 1}, [["x"]], np.array(["x"]), slice(None)])
@for_each("option", ["column", "columns", "row", "person"])
def test_what_is_no_name_of_a_column_is_said_to_be_none(option, name):
    flip = md.Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"], ["no", "yes"])
    table = pd.DataFrame({"x": ["no", "yes"], "id": [1, 2]})
    options = {} if option.startswith("column") else {option: name}
    column = name if option == "column" else None if option == "columns" else "x"
    if option == "columns":
        options = {"columns": name}
    with pytest.raises(InputError, match="column"):
        md.privatize(table, column, flip, **options)
