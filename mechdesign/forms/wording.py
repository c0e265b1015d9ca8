"""What a form says: the question and its choices, by language, from a text or a small file."""

from __future__ import annotations

import string
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import InputError, nearest_name, quote
from ..files import parse_json, read_text
from ..labels import Label, label_text

# Of one language, beside what the package says in it.
_OWN = ("question", "choices", "introduction")
_ONCE = ("language", "translations", "shared")


@dataclass(frozen=True)
class Asked:
    """One question in one language: its text, and that of each input in the order of the choices.

    Attributes
    ----------
    question : what is asked
    choices : position of an input among those of the kernel, and what it is called
    """

    question: str
    choices: tuple[tuple[int, str], ...]

    def called(self, place: int) -> str:
        """What the input at a position is called."""
        return dict(self.choices)[place]


@dataclass(frozen=True)
class Wording:
    """What a form says.

    Attributes
    ----------
    asked : by language, that of the page first: what is asked of each column
    texts : by language, all other texts by their names
    shared : whether several people answer on one device, one after the other
    """

    asked: Mapping[str, tuple[Asked, ...]]
    texts: Mapping[str, Mapping[str, str]]
    shared: bool = False


@cache
def built_in() -> dict[str, dict[str, str]]:
    """The texts that need not be written, by language."""
    with Path(__file__).with_name("wording.toml").open("rb") as file:
        return tomllib.load(file)


def read_wording(given: Any, columns: Mapping[str, Sequence[Label]]) -> Wording:
    """The wording of a form about columns with these inputs.

    Parameters
    ----------
    given : the question; the name of a file that ends with ``.toml`` or ``.json``; or what such a
        file holds
    columns : inputs of each column; of several, ``question`` and ``choices`` have an entry for each

    Raises :class:`InputError` for wording that lacks something, or names what there is not.
    """
    content = _content(given)
    _check_names("wording of the form", content, (*_ONCE, *_OWN, *built_in()["en"]))
    shared, language = content.get("shared", False), content.get("language", "en")
    _checked("shared", shared, bool, "true or false")
    _checked("language", language, str, "a code such as 'en'")
    others = content.get("translations", {})
    _checked("translations", others, Mapping, "a table of languages")
    own = {name: part for name, part in content.items() if name not in _ONCE}
    if language in others:
        raise InputError(
            "translations",
            expected=f"other languages than {quote(language)}, in which the form is written",
            got="that one",
            remedy="write its texts once",
        )
    asked, texts = {}, {}
    for code, part in {language: own, **others}.items():
        _checked(f"translations.{code}", part, Mapping, "a table of texts")
        said = {name: text for name, text in part.items() if name not in _OWN[:2]}
        texts[code] = _texts(code, said)
        asked[code] = _asked(code, part, columns)
    return Wording(asked, texts, shared)


def _content(given: Any) -> Mapping[str, Any]:
    if isinstance(given, Mapping):
        return given
    _checked("form", given, (str, Path), "a question, or a file with the wording")
    kind = Path(given).suffix.lower()
    if kind not in (".toml", ".json"):
        if Path(given).is_file():
            raise InputError(
                f"wording of the form {given}",
                expected="a question, or a file that ends in .toml or .json",
                got="another file",
                remedy="write it as TOML",
            )
        return {"question": str(given)}
    text = read_text(Path(given))
    try:
        found = tomllib.loads(text) if kind == ".toml" else parse_json(text, str(given))
    except tomllib.TOMLDecodeError as problem:
        raise InputError(
            f"wording of the form {given}",
            expected="TOML",
            got=f"something else ({problem})",
            remedy="mend that line",
        ) from None
    _checked(f"wording of the form {given}", found, Mapping, "a table of texts")
    return found


def _texts(code: str, given: Mapping[str, Any]) -> dict[str, str]:
    """All texts of a language but the questions: those that are given, else our own."""
    names = built_in()["en"]
    _check_names(f"wording of the form in {code}", given, (*names, "introduction"))
    found = {"introduction": ""} | built_in().get(code, {}) | dict(given)
    missing = [name for name in names if name not in found]
    if missing:
        raise InputError(
            f"wording of the form in {code}",
            expected=f"all texts, as it is none of {', '.join(built_in())}",
            got=f"none for {', '.join(missing)}",
            remedy="add them, or choose another language",
        )
    for name, text in found.items():
        if name != "introduction" or text != "":
            _checked(f"{name} in {code}", text, str, "a text")
        allowed = _fields(names.get(name, ""))
        if not _fields(text) <= allowed:
            raise InputError(
                f"{name} in {code}",
                expected=f"a text with {' and '.join(sorted(allowed)) or 'nothing'} in braces",
                got=quote(text),
                remedy="leave the others out",
            )
    return found


def _fields(text: str) -> set[str]:
    """What stands in braces; something that no text has where braces do not match."""
    try:
        parts = [part[1:] for part in string.Formatter().parse(text) if part[1] is not None]
    except ValueError:
        return {"an open brace"}
    # A form or a conversion beside a name is no name.
    return {f"{{{':'.join(filter(None, part))}}}" for part in parts}


def _asked(
    code: str, part: Mapping[str, Any], columns: Mapping[str, Sequence[Label]]
) -> tuple[Asked, ...]:
    questions, choices = part.get("question"), part.get("choices", {})
    subject = f"question in {code}"
    if len(columns) == 1:
        (name,) = columns
        questions, choices = {name: questions}, {name: choices}
    names = ", ".join(columns)
    expected = f"a text for each of {names}, in a table [question] of a .toml file"
    questions = _checked(subject, questions, Mapping, expected)
    choices = _checked(f"choices in {code}", choices, Mapping, f"a table for each of {names}")
    _check_names(subject, questions, tuple(columns))
    _check_names(f"choices in {code}", choices, tuple(columns))
    found = []
    for name, inputs in columns.items():
        _checked(subject, questions.get(name), str, f"what is asked of {name}")
        given = _checked(
            f"choices in {code}", choices.get(name, {}), Mapping, "a text for each symbol"
        )
        known = {called(label): place for place, label in enumerate(inputs)}
        _check_names(f"choices in {code}", given, tuple(known))
        for text in given.values():
            _checked(f"choices in {code}", text, str, "a text for each symbol")
        named = [(known[text], said) for text, said in given.items()]
        rest = [(place, text) for text, place in known.items() if text not in given]
        choices_here = (*named, *rest)
        if len({text.strip() for _, text in choices_here}) < len(inputs):
            raise InputError(
                f"choices in {code}",
                expected="a text of its own for each symbol",
                got="one for several",
                remedy="call them apart",
            )
        found.append(Asked(questions[name], choices_here))
    return tuple(found)


def called(label: Label) -> str:
    """What a label is called where nothing else is said: tuples by their parts."""
    if isinstance(label, tuple):
        return ", ".join(map(label_text, label))
    return label_text(label)


def _checked(subject: str, given: Any, kind: Any, expected: str) -> Any:
    if not isinstance(given, kind) or (isinstance(given, str) and not given.strip()):
        raise InputError(
            subject,
            expected=expected,
            got="nothing" if given in (None, "") else quote(given),
            remedy="write it into the wording of the form",
        )
    return given


def _check_names(subject: str, given: Mapping[str, Any], known: Sequence[str]) -> None:
    for name in given:
        if name not in known:
            near = nearest_name(name, known)
            raise InputError(
                subject,
                expected=f"some of {', '.join(known)}",
                got=quote(name),
                remedy=f"did you mean {near}?" if near else "leave it out",
            )
