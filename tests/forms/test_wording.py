"""What a form says: all of it in every language, and what is true of a kernel."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mechdesign as md
from mechdesign.errors import DisclosureWarning, InputError, KernelError
from mechdesign.forms._write_form import Form
from mechdesign.forms.protection import protection, simple_share
from mechdesign.forms.wording import built_in, read_wording

FLIP = md.Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"], ["no", "yes"])
COLUMNS = {"answer": ("no", "yes")}


def page(folder):
    """What the page of a folder holds for its script."""
    text = (folder / "index.html").read_text(encoding="utf-8")
    return json.loads(text.split('id="form">')[1].split("</script>")[0])


def test_every_language_has_every_text_with_the_same_numbers_in_it():
    english, *others = built_in().values()
    assert len(others) >= 3
    for texts in others:
        assert list(texts) == list(english)
        for name, text in texts.items():
            fields = [part.split("}")[0] for part in text.split("{")[1:]]
            assert sorted(fields) == sorted(p.split("}")[0] for p in english[name].split("{")[1:])


@given(st.integers(2, 5), st.integers(1, 5), st.integers(0, 10**6))
def test_the_sentence_is_true(inputs, outputs, seed):
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 3, (inputs, outputs))
    weights[:, 0] += rng.integers(0, 2) + (weights.sum(axis=1) == 0)
    kernel = md.Mechanism(weights / weights.sum(axis=1, keepdims=True), normalise=True)
    exact = [[Fraction(int(w), kernel.denominator) for w in row] for row in kernel.weights]
    columns = [c for c in zip(*exact, strict=True) if any(c)]
    sentence, few, many = protection(kernel)
    common = sum(map(min, columns))
    if common:  # the part that does not depend on the answer
        assert sentence == "by_chance"
        assert few <= many
        assert abs(Fraction(few, many) - common) <= Fraction(1, 10)
        assert common * Fraction(2, 3) <= Fraction(few, many) <= common * Fraction(3, 2)
    else:
        assert few == min(sum(p > 0 for p in c) for c in columns)
        assert (sentence, many) == ("by_others" if few > 1 else "plain", inputs)


def test_small_shares_keep_their_size():
    for share in (Fraction(1, 10**9), Fraction(1, 12), Fraction(999, 1000), Fraction(7, 10)):
        few, many = simple_share(share)
        assert abs(Fraction(few, many) / share - 1) < Fraction(1, 8)


def test_a_question_is_a_form(tmp_path):
    told = md.write_form(FLIP, tmp_path / "page", "Here?", collector="https://a.example/x/")
    assert told.startswith("--allow-origin")
    assert sorted(p.name for p in (tmp_path / "page").iterdir()) == [
        *("client.mjs", "index.html", "page.css", "page.mjs")
    ]
    found = page(tmp_path / "page")
    assert found["collector"] == "https://a.example/x/reports"
    assert found["outputs"] == {"en": [["no", "yes"]]}
    assert "about 1 of every 2 times" in found["texts"]["en"]["protection0"]
    assert "connect-src https://a.example;" in (tmp_path / "page/index.html").read_text("utf-8")
    with pytest.raises(md.errors.StorageError):
        md.write_form(FLIP, tmp_path / "page", "Here?", collector="https://a.example")


def test_a_file_has_choices_in_its_order_and_languages(tmp_path):
    (tmp_path / "wording.toml").write_text(
        'question = "Here?"\nlanguage = "en"\nshared = true\n[choices]\nyes = "<Yes>"\n'
        '[translations.de]\nquestion = "Hier?"\nsend = "Los"\n[translations.de.choices]\n'
        'yes = "Ja"\nno = "Nein"\n',
        encoding="utf-8",
    )
    wording = read_wording(tmp_path / "wording.toml", COLUMNS)
    assert wording.shared
    assert wording.asked["en"][0].choices == ((1, "<Yes>"), (0, "no"))
    assert wording.asked["de"][0].choices == ((1, "Ja"), (0, "Nein"))
    assert wording.texts["de"]["send"] == "Los"
    text = Form.of(FLIP, tmp_path / "wording.toml").files(collector="reports")["index.html"]
    assert "&lt;Yes&gt;" in text
    assert "<Yes>" not in text


def test_a_plan_asks_for_each_column():
    priors = {
        "a": md.Prior([0.5, 0.5], labels=["x", "y"]),
        "b": md.Prior([0.5, 0.5], labels=[1, 2]),
    }
    plan = md.plan_columns(priors, total=md.LDP(1))
    wording = {"question": {"a": "A?", "b": "B?"}, "choices": {"b": {"1": "one"}}}
    found = Form.of(plan, wording)
    assert [one.question for one in found.wording.asked["en"]] == ["A?", "B?"]
    assert found.wording.asked["en"][1].choices == ((0, "one"), (1, "2"))
    assert "B?" in found.files(collector="reports")["index.html"]
    with pytest.raises(InputError, match="a text for each of a, b"):
        Form.of(plan, "What?")


def test_reports_are_called_as_the_choices_that_send_them_most():
    prior = md.Prior.from_counts({("A", 1): 5, ("A", 2): 3, ("B", 1): 2})
    kernel = md.Mechanism(
        [[0.5, 0.25, 0.25], [0.5, 0.25, 0.25], [0.25, 0.25, 0.5]],
        prior.labels,
        [("A", 1), "all", "B"],
    )
    wording = {"question": "Where?", "choices": {"A, 2": "the second"}}
    form = Form.of(kernel, wording)
    assert form.wording.asked["en"][0].choices == ((1, "the second"), (0, "A, 1"), (2, "B, 1"))
    assert form._outputs("en") == [["A, 1", "A, 1 / the second / B, 1", "B, 1"]]
    # Another question of the same kernel is another survey.
    texts = [Form.of(kernel, text).files(collector="r")["index.html"] for text in ("A?", "B?")]
    assert len({text.split('"survey": "')[1][:16] for text in texts}) == 2


def test_what_tells_the_answer_is_said():
    with pytest.warns(DisclosureWarning, match="the page says so"):
        found = Form.of(md.Mechanism(np.eye(2), ["a", "b"], ["a", "b"]), "Which?")
    assert "tells your answer" in found.files(collector="reports")["index.html"]
    split = md.Mechanism([[0.5, 0.5, 0], [0, 0.5, 0.5], [0.5, 0, 0.5]])
    assert protection(split) == ("by_others", 2, 3)


WRONG = {
    "no question": {},
    "empty": {"question": " "},
    "unknown": {"question": "?", "choice": {}},
    "a symbol": {"question": "?", "choices": {"maybe": "?"}},
    "twice": {"question": "?", "choices": {"yes": "no"}},
    "language": {"question": "?", "language": "pl"},
    "the same language": {"question": "?", "translations": {"en": {"question": "?"}}},
    "a conversion": {"question": "?", "by_chance": "{few!x} of {many}"},
    "a format": {"question": "?", "promise": "{guarantee:>q}"},
    "braces": {"question": "?", "sent": "{answer}"},
    "open brace": {"question": "?", "title": "{"},
    "number": {"question": "?", "title": 3},
    "shared": {"question": "?", "shared": "no"},
    "translation": {"question": "?", "translations": {"de": {}}},
    "list": {"question": ["?"]},
}


def test_mistakes_are_told_in_one_line(tmp_path):
    for name, wording in WRONG.items():
        with pytest.raises(InputError) as found:
            read_wording(wording, COLUMNS)
        assert "\n" not in str(found.value), name
        assert found.value.remedy, name
    (tmp_path / "wording.toml").write_text("question", encoding="utf-8")
    (tmp_path / "w.yaml").write_text("question: ?", encoding="utf-8")
    for wrong in (tmp_path / "wording.toml", tmp_path / "w.yaml", tmp_path / "none.json", 3):
        with pytest.raises(md.errors.MechdesignError):
            read_wording(wrong, COLUMNS)
    policy = "https://a.example;script-src *"
    for address in ("a.example", "ftp://a.example", "https://me@a.example", policy, None):
        with pytest.raises(InputError, match="its address"):
            md.write_form(FLIP, tmp_path / "page", "?", collector=address)
    many = md.subset_selection(1000, md.LDP(1))
    with pytest.raises(KernelError, match="one with a matrix"):
        Form.of(many, "?")
    with pytest.raises(InputError, match="a text of its own"):
        read_wording("?", {"answer": (1, "1")})
