"""The module for devices in Node: what it remembers in files, and all columns of a plan."""

from __future__ import annotations

import json
import os
import stat
import subprocess

import numpy as np
import pytest
from checks import refused
from node_runs import MISSING, NODE, run_node, run_script

import mechdesign as md
from mechdesign.cli import main
from mechdesign.published import kernel_fingerprint

pd = pytest.importorskip("pandas")

pytestmark = [
    pytest.mark.skipif(NODE is None, reason=MISSING),
    pytest.mark.filterwarnings("ignore::mechdesign.errors.UntoldWarning"),
]

LABELS = ["no", "yes", "perhaps"]
KERNEL = md.randomised_response(md.Prior.uniform(LABELS), 1)


# Files


ALL = "Promise.all(kernel.inputs.map((label) => client.output(label)))"


def files_in(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_a_program_that_starts_again_has_the_same_reports(tmp_path):
    body = f"""
    const found = [];
    for (let person = 0; person < 30; person++) {{
      const client = new Client({{ person }});
      found.push(await {ALL});
    }}
    tell(found);
    """
    first = run_node(tmp_path, KERNEL, body)
    assert run_script(tmp_path, body) == first
    # The control: elsewhere, they are drawn anew.
    (tmp_path / "data").rename(tmp_path / "moved")
    assert run_script(tmp_path, body) != first
    kept = files_in(tmp_path / "moved")
    assert len(kept) == 30
    assert {path.parent for path in kept} == {tmp_path / "moved" / "mechdesign" / "reports"}
    for path in kept:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert len(json.loads(path.read_text())["reports"]) == len(LABELS)


def test_a_folder_can_be_named(tmp_path):
    body = f"const client = new Client({{ storage: given }}); tell(await {ALL});"
    own = str(tmp_path / "deep" / "own")
    first = run_node(tmp_path, KERNEL, body, own)
    assert run_script(tmp_path, body, own) == first
    assert len(files_in(tmp_path / "deep")) == 1
    assert not (tmp_path / "data").exists()


AT_ONCE = """
const found = [];
for (let person = 0; person < 120; person++) {
  found.push(await new Client({ person }).output("yes"));
}
tell(found);
"""


def test_of_several_programs_at_once_all_have_one_report(tmp_path):
    run_node(tmp_path, KERNEL, "tell(1)")
    text = (tmp_path / "main.mjs").read_text().replace("tell(1)", AT_ONCE)
    (tmp_path / "main.mjs").write_text(text)
    environment = {**os.environ, "XDG_DATA_HOME": str(tmp_path / "data")}
    works = [
        subprocess.Popen(
            [NODE, "main.mjs"], cwd=tmp_path, stdout=subprocess.PIPE, env=environment, text=True
        )
        for _ in range(3)
    ]
    told = [json.loads(work.communicate()[0]) for work in works]
    assert told[0] == told[1] == told[2]
    assert len(set(told[0])) == len(LABELS)
    # Nothing but the reports is left.
    assert len(files_in(tmp_path / "data")) == 120


def test_what_is_damaged_or_cannot_be_written_tells_nothing(tmp_path):
    body = "tell(await said(() => new Client({ storage: given }).report('yes')));"
    assert run_node(tmp_path, KERNEL, body, "kept")[0] == "done"
    (file,) = files_in(tmp_path / "kept")
    whole = file.read_text()
    for content in ("", whole[:-5], "{}", whole.replace(kernel_fingerprint(KERNEL), "00")):
        file.write_text(content)
        kind, message = run_script(tmp_path, body, "kept")
        assert kind == "ClientError"
        assert "a new draw would be a second report" in message
        assert file.read_text() == content
    file.write_text(whole)
    assert run_script(tmp_path, body, "kept")[0] == "done"
    (tmp_path / "taken").write_text("a file, and no folder")
    kind, message = run_script(tmp_path, body, "taken")
    assert kind == "Error"
    assert "yes" not in message
    assert files_in(tmp_path / "kept") == [file]


# Plans


def planned(total, *names):
    """Columns of people, one of bins, with combinations that do not occur."""
    rng = np.random.default_rng(1)
    table = pd.DataFrame(
        {"class": rng.choice(["1st", "2nd", "crew"], 300), "age": rng.integers(0, 80, 300)}
    )
    table["sex"] = np.where(table["class"] == "crew", "male", rng.choice(["male", "female"], 300))
    bins = md.bins(table["age"], edges=[0, 18, 65, 120])
    bins = {"age": bins} if "age" in names else None
    return table, md.plan_columns(md.Prior.from_data(table, list(names), bins=bins), total=total)


@pytest.fixture(scope="module")
def ldp():
    return planned(md.LDP(3), "class", "sex", "age")


@pytest.fixture(scope="module")
def pml():
    return planned(md.PML(1), "class", "sex")


KEYED = """
const key = keyFromText(given.key), found = [];
for (const [i, values] of given.rows.entries()) {
  const client = new Client({ key, identity: i, ...given.more });
  found.push((await client.report(values)).map((one) => one.report));
}
const client = new Client({ key, identity: 1, ...given.more });
tell({ found, names: kernels.map((one) => one.column), file: client.receiptFile });
"""


@pytest.mark.parametrize("of", [None, 2])
def test_a_plan_is_one_module_with_the_reports_of_python(ldp, of, tmp_path):
    table, plan = ldp
    table = table[:80].assign(id=range(80))
    key = md.release_key(tmp_path / "release.key")
    made = md.privatize(table, plan, person="id", key=key, round=of)
    names = list(plan.names)
    rows = table[names].to_dict("records")
    text = (tmp_path / "release.key").read_text()
    more = {} if of is None else {"round": of}
    told = run_node(tmp_path, plan, KEYED, {"key": text, "rows": rows, "more": more})
    assert told["names"] == names
    assert told["found"] == made[names].to_numpy().tolist()
    receipts = json.loads(told["file"])["receipts"]
    assert list(receipts) == names
    for name, found in zip(names, plan.designs, strict=True):
        assert receipts[name]["kernel"] == kernel_fingerprint(found.mechanism)
        assert receipts[name]["together"] == "LDP(3) of class, sex, age together"
        assert receipts[name].get("round") == (None if of is None else "2")
    # One file of receipts serves the estimates of each column.
    (tmp_path / "receipt.json").write_text(told["file"])
    reports = pd.DataFrame(told["found"], columns=names)
    for name, found in zip(names, plan.designs, strict=True):
        assert md.estimate(reports, found, name, receipt=tmp_path / "receipt.json").note == ""


def test_all_columns_are_remembered_each_with_its_own_draws(ldp, tmp_path):
    _, plan = ldp
    body = """
    const found = [];
    for (let person = 0; person < 20; person++) {
      const client = new Client({ person, storage: "kept" });
      const one = await client.report({ sex: "male", age: 30, class: "crew" });
      const two = await client.report({ class: "crew", sex: "female", age: 30 });
      found.push([one, two]);
    }
    tell(found);
    """
    told = run_node(tmp_path, plan, body)
    digests = [kernel_fingerprint(found.mechanism) for found in plan.designs]
    nonces = set()
    for one, two in told:
        assert [part["kernel"] for part in one] == digests
        # Class and age stayed, and so did their reports.
        assert [one[0]["report"], one[2]["report"]] == [two[0]["report"], two[2]["report"]]
        nonces |= {part["nonce"] for part in (*one, *two)}
    assert len(nonces) == 20 * 6
    assert len(files_in(tmp_path / "kept")) == 20 * 3
    assert len({tuple(part["report"] for part in one) for one, _ in told}) > 3


REFUSED = """
const client = new Client({ storage: memory() });
const found = {};
const whole = given;
const values = {
  whole, unseen: { ...whole, sex: "secret-value" }, fewer: { class: "crew" },
  more: { ...whole, name: "secret-value" }, list: ["crew", "male", 30], text: "crew", nothing: null,
  rare: { ...whole, sex: "female" },
};
for (const [name, value] of Object.entries(values)) {
  found[name] = await said(() => client.output(value));
}
found.column = await said(async () => new Client({ storage: memory(), column: "class" }));
tell(found);
"""


# As of every kernel that was fitted to a prior.
@pytest.mark.filterwarnings("ignore::mechdesign.errors.CountsWarning")
@pytest.mark.parametrize("which", ["ldp", "pml"])
def test_values_are_refused_as_in_python(which, request, tmp_path):
    _, plan = request.getfixturevalue(which)
    whole = {"class": "crew", "sex": "male", "age": 30}
    told = run_node(tmp_path, plan, REFUSED, {name: whole[name] for name in plan.names})
    assert told.pop("whole")[0] == "done"
    # There are no women in the crew: a notion of the prior says nothing of them.
    kind, message = told.pop("rare")
    assert kind == ("done" if which == "ldp" else "ClientError")
    if which == "pml":
        assert "a combination that the plan knows" in message
        row = pd.DataFrame({"class": ["crew"], "sex": ["female"], "age": [30]})
        refused(lambda: md.privatize(row, plan), "combinations of values")
    for name, (kind, message) in told.items():
        assert kind == "ClientError", name
        assert "secret-value" not in message


def test_a_plan_from_a_terminal(ldp, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    md.save(ldp[1], "plan.json")
    assert main(["export", "plan.json", "--to", "javascript", "-o", "client.mjs"]) == 0
    assert run_script(tmp_path, "tell([kernel, kernels.length])") == [None, 3]
    words = ["export", "plan.json", "--to", "sql", "--dialect", "postgresql", "--table", "t"]
    assert main([*words, "-o", "t.sql"]) == 2
    assert (
        "expected one column of the plan, whose reports are to be drawn in SQL"
        in capsys.readouterr().err
    )
    assert "weights" not in (tmp_path / "client.mjs").read_text().partition("sources")[0]
