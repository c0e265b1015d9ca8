"""What the public form of a design for questions asks, and what it gives away.

Adversaries: a form that asks something else than the design, one that shows prior, truth or what
errors weigh, and a file whose question was forged.
"""

from __future__ import annotations

import copy
import json
import pickle
import warnings

import jsonschema
import numpy as np
import pytest
from checks import for_each

import mechdesign as md
from mechdesign.certificate import verify
from mechdesign.errors import CountsWarning, DataError, StorageError, UtilityError
from mechdesign.storage import from_json, seal, to_json
from mechdesign.utility import Estimation
from mechdesign.utility.questions import Question

LABELS = ["a", "b", "c", "d"]
UNIFORM = md.Prior.uniform(LABELS)
#: Counts that occur in no kernel by chance.
COUNTED = md.Prior.from_counts([7000119, 2000113, 900973, 150017], LABELS)
PILOT = {"a": 3100057, "b": 4100071, "c": 5100089, "d": 6100097}
MEAN = {"a": 1 / 3, "b": 2.0, "c": 0.1, "d": -7e-5}
TRIANGLE = [[1, -1, 0, 0], [0, 1, -1, 0], [1, 0, -1, 0], [0.1 + 0.2, 0, 0, 1e-60], [0, 1, 1, 1]]
CLASSES = md.Prior([0.3, 0.1, 0.4, 0.2], [(x, y) for x in "ab" for y in (1, 2)])
#: A mean; more contrasts than symbols; shares of a column; named groups, weighed; a function.
ASKED = {
    "mean": (UNIFORM, Estimation(MEAN)),
    "contrasts": (UNIFORM, Estimation(TRIANGLE)),
    "column": (CLASSES.with_schema(["x", "y"]), Estimation("y")),
    "named": (
        COUNTED,
        Estimation({x: x in "ab" for x in LABELS}, [2, 3], names=["upper", ("lo", 2)]),
    ),
    "truth": (COUNTED, Estimation(MEAN, truth=PILOT)),
    "function": (UNIFORM, Estimation([lambda x: ord(x), {x: x for x in LABELS}])),
}
VALIDATOR = jsonschema.Draft202012Validator(json.loads(json.dumps(verify.FORM)))


@pytest.fixture(scope="module")
def designs():
    return {name: md.design(*asked, md.LDP(1.25)) for name, asked in ASKED.items()}


def reports_of(found, scale=3000):
    shares = np.linspace(1, 2, found.mechanism.shape[0]) @ found.mechanism.kernel
    counts = np.round(shares / shares.sum() * scale).astype(int)
    return dict(zip(found.mechanism.outputs, counts.tolist(), strict=True))


def content_of(found):
    with warnings.catch_warnings():  # of kernels that give their prior back
        warnings.simplefilter("ignore", CountsWarning)
        return json.loads(json.dumps(to_json(md.public_form(found))))


def resealed(content):
    return seal({key: value for key, value in content.items() if key != "digest"})


# What is answered


@pytest.mark.slow
@for_each("name", ASKED)
def test_public_forms_answer_what_the_design_answers_to_the_last_bit(designs, tmp_path, name):
    found = designs[name]
    md.save(found, tmp_path / "whole.json")
    md.save(found, tmp_path / "public.json", public=True)
    reports, truth = reports_of(found), found.prior
    public, whole = md.load(tmp_path / "public.json"), md.load(tmp_path / "whole.json")
    assert isinstance(public, md.PublicDesign)
    every = [found, whole, public, pickle.loads(pickle.dumps(public)), copy.deepcopy(public)]
    made = [md.estimate(reports, one, truth=truth) for one in every]
    for one in made[1:]:
        assert one.labels == made[0].labels == found.question.labels
        for what in ("values", "errors", "lower", "upper", "covariance"):
            assert getattr(one, what).tobytes() == getattr(made[0], what).tobytes(), what
    planned = [md.plan(one, error=0.1, worst=True) for one in every]
    assert {one.labels for one in planned} == {found.question.labels}
    if found.prior == UNIFORM:  # then weights on reports are the same without a truth, too
        assert md.estimate(reports, public).values.tobytes() == made[0].values.tobytes()
        assert {one.errors.tobytes() for one in planned} == {planned[0].errors.tobytes()}
        assert {one.reports for one in planned} == {planned[0].reports}
    told = md.identifiability(public)
    assert told.answers == found.question.labels
    assert "-u estimation" not in told.advice
    assert "Estimation()" not in told.advice
    # A control: the kernel alone is asked for every symbol.
    assert md.identifiability(found.mechanism).answers == ()


@for_each("name", ASKED)
def test_files_say_so_exactly_and_have_the_form(designs, name):
    found, content = designs[name], content_of(designs[name])
    asked = from_json(content).question
    assert asked.labels == found.question.labels
    assert asked.weights.tobytes() == np.asarray(found.question.weights).tobytes()
    VALIDATOR.validate(content)
    assert verify.check(json.dumps(content).encode()).state == verify.PROVED
    assert content["schema"] == 1


def test_forms_without_a_question_ask_nothing():
    for goal in (Estimation(), md.utility.Hamming(), Estimation(names=["w", "x", "y", "z"])):
        content = content_of(md.design(UNIFORM, goal, md.LDP(1)))
        assert not {"questions", "answers"} & content.keys()
        assert from_json(content).question is None


def test_reports_of_forms_with_and_without_the_question_count_together(designs):
    """What is estimated from reports changes neither how they are drawn nor what they keep."""
    found = designs["mean"]
    plain = md.PublicDesign.of(found.mechanism, found.notions)
    others = md.PublicDesign.of(
        found.mechanism, found.notions, question=Question(("x",), np.eye(4)[:, :1])
    )
    assert plain.fingerprint == others.fingerprint == md.public_form(found).fingerprint
    one, two = (md.ReportCounts(of, {of.outputs[0]: 7}) for of in (plain, others))
    assert one.kernel == two.kernel
    assert len(one + two) == 14


# What is given away


def test_files_of_one_kernel_and_question_are_the_same_whatever_they_were_made_of(designs):
    """Nothing of prior, truth and weights has come through: no byte depends on them."""
    kernel = designs["truth"].mechanism
    goals = [
        (UNIFORM, Estimation(MEAN)),
        (COUNTED, Estimation(MEAN, truth=PILOT)),
        (COUNTED, Estimation(MEAN, [17.25], names=["mean"])),
        (md.Prior.from_counts(PILOT), Estimation([list(MEAN.values())], names=["mean"])),
        (UNIFORM, Estimation(MEAN, truth="any")),
    ]
    texts = {
        json.dumps(content_of(md.certify(kernel, prior, goal, md.LDP(1.25))))
        for prior, goal in goals
    }
    assert len(texts) == 1
    other = md.certify(kernel, UNIFORM, Estimation({**MEAN, "a": 0.3}), md.LDP(1.25))
    assert json.dumps(content_of(other)) not in texts  # a control


# What is forged


FORGED = {
    "no names": lambda c: c.pop("answers"),
    "no numbers": lambda c: c.pop("questions"),
    "nothing": lambda c: c.update(questions=None, answers=None),
    "no rows": lambda c: c.update(questions=[], answers=[]),
    "a row short": lambda c: c["questions"].pop(),
    "a name more": lambda c: c["answers"].append("more"),
    "a number short": lambda c: c["questions"][0].pop(),
    "a flat list": lambda c: c.update(questions=[1.0, 2.0]),
    "no list of rows": lambda c: c.update(questions={"0": [1, 0, 0, 0], "1": [0, 1, 0, 0]}),
    "a text": lambda c: c["questions"][0].__setitem__(0, "1"),
    "a truth value": lambda c: c["questions"][0].__setitem__(0, True),
    "null": lambda c: c["questions"][0].__setitem__(0, None),
    "no number": lambda c: c["questions"][0].__setitem__(0, float("nan")),
    "infinite": lambda c: c["questions"][0].__setitem__(0, float("inf")),
    "huge": lambda c: c["questions"][0].__setitem__(0, 1.1e60),
    "beyond doubles": lambda c: c["questions"][0].__setitem__(0, 10**400),
    "tiny": lambda c: c["questions"][0].__setitem__(0, 9e-61),
    "one name twice": lambda c: c.update(answers=["x", "x"]),
    "equal names": lambda c: c.update(answers=[1, 1.0]),
    "a name that is a list": lambda c: c.update(answers=[["a"], "b"]),
    "a name that is no number": lambda c: c.update(answers=[{"float": "nan"}, "b"]),
    "a name of another form": lambda c: c.update(answers=[{"name": "a"}, "b"]),
    "names in one text": lambda c: c.update(answers="ab"),
}


@for_each("forge", FORGED.values())
@for_each("is_plan", [False, True])
def test_forged_questions_are_refused_by_who_reads_and_who_checks(
    designs, tmp_path, forge, is_plan
):
    content = public = content_of(designs["named"])
    assert len(public["questions"]) == 2  # a control: without forgery it is read
    if is_plan:
        mechanism = designs["named"].mechanism
        parts = [
            md.PublicDesign.of(
                mechanism.with_schema(name), designs["named"].notions, (), designs["named"].question
            )
            for name in ("x", "y")
        ]
        content = json.loads(json.dumps(to_json(md.PublicPlan.of(["x", "y"], parts, md.LDP(2.5)))))
        public = content["columns"][1]["public"]
    (tmp_path / "whole.json").write_text(json.dumps(content))
    md.load(tmp_path / "whole.json")
    verify.check(json.dumps(content).encode())
    forge(public)
    if is_plan:
        content["columns"][1]["public"] = resealed(public)
    path = tmp_path / "forged.json"
    path.write_text(json.dumps(resealed(content)))
    with pytest.raises(StorageError):
        md.load(path)
    with pytest.raises(verify.UnreadableError):
        verify.check(path.read_bytes())


def test_questions_at_the_ends_of_what_is_allowed_are_read(designs):
    content = content_of(designs["mean"])
    content["questions"] = [[1e60, -1e60, 1e-60, -1e-60], [0, 0.0, -0.0, 1]]
    content["answers"] = [{"float": "inf"}, {"tuple": ["x", None]}]
    content = resealed(content)
    VALIDATOR.validate(content)
    assert from_json(content).question.labels == (float("inf"), ("x", None))
    assert verify.check(json.dumps(content).encode()).state == verify.PROVED


@for_each(
    ("question", "named"),
    [
        (Question(("x",), np.ones((3, 1))), "rows of 4 numbers"),
        (Question(("x",), np.full((4, 1), np.nan)), "finite"),
        (Question(("x", "y"), np.ones((4, 1))), "one for each"),
        (Question(("x", "x"), np.ones((4, 2))), "distinct"),
        (Question(("x",), np.full((4, 1), 1e61)), "1e-60 to 1e\\+60"),
    ],
)
def test_questions_that_fit_no_kernel_are_refused_where_forms_are_made(designs, question, named):
    with pytest.raises(UtilityError, match=named):
        md.PublicDesign.of(designs["mean"].mechanism, [md.LDP(1.25)], question=question)


def test_a_question_that_the_reports_do_not_answer_is_refused_by_its_name(designs):
    """Of a forged file, or of a kernel from elsewhere."""
    kernel = md.Mechanism([[0.8, 0.2], [0.8, 0.2], [0.2, 0.8], [0.2, 0.8]], LABELS, ["x", "y"])
    public = md.PublicDesign.of(
        kernel, [md.LDP(1.5)], question=Question(("first of two",), np.eye(4)[:, :1])
    )
    with pytest.raises(DataError, match="one whose reports tell 'first of two'") as refused:
        md.estimate({"x": 60, "y": 40}, public)
    assert "-u estimation" not in str(refused.value)
    assert "Estimation()" not in str(refused.value)
    advice = md.identifiability(public).advice
    assert "answer nothing of what the design asks ('first of two')" in advice
    assert "-u estimation" not in advice
    assert md.estimate({"x": 60, "y": 40}, public, by="blocks").labels == (("a", "b"), ("c", "d"))
