"""Programs written for version 0.1 find every name that it had, with the same parameters."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest
from checks import for_each
from recorded.make_names import public_names

RECORDED = Path(__file__).parents[1] / "recorded" / "public_names.json"
BEFORE = json.loads(RECORDED.read_text(encoding="utf-8"))
# Constraints on a sum over outcomes were made by `budgets`, of a kind that was not public; what
# stands for them is `sums`, of a kind that is. Descriptions and values had other names, too.
REPLACED = {"budgets", "in_words", "worths"}
# Where README and notebooks of version 0.1 import from, beside the package itself.
PATHS = {
    "mechdesign.data": ["example_path"],
    "mechdesign.plotting.style": ["LINES", "PALETTE", "save_figure"],
    "mechdesign.privacy": ["databases"],
    "mechdesign.release.measurement": ["to_opendp"],
    "mechdesign.release.receipts": ["receipts_of"],
    "mechdesign.release.transformer": ["Privatizer"],
}


def kept(before, now):
    """Whether what was passed before can still be passed, by position and by name."""
    if before is None or now is None:
        return before is now
    # Nobody can pass *arguments by name.
    before, now = ([p.split("*")[0] for p in parameters] for parameters in (before, now))
    # Who passed what had to be passed may go on when it can be left out.
    now = [p.partition("=")[0] if p.partition("=")[0] in before else p for p in now]
    added = [parameter for parameter in now if parameter not in before]
    return [p for p in now if p in before] == before and all("=" in p for p in added)


def missing(before, now):
    """Names, members and parameters of before that are gone."""
    for name, members in before.items():
        if name not in now:
            yield name
            continue
        for member, parameters in members.items():
            stays = member in now[name] and kept(parameters, now[name][member])
            if not stays and member not in REPLACED:
                yield f"{name}.{member}{parameters}"


def test_every_public_name_is_there_with_its_parameters():
    assert len(BEFORE) > 250
    assert not list(missing(BEFORE, public_names()))


@pytest.mark.parametrize(
    ("name", "member", "parameters"),
    [
        ("design", "", ["POSITIONAL_OR_KEYWORD prior", "POSITIONAL_OR_KEYWORD utilities"]),
        ("ReleaseKey", "hash", ["POSITIONAL_OR_KEYWORD context"]),
        ("Prior", "never", None),
    ],
)
def test_a_name_or_a_parameter_that_is_gone_is_noticed(name, member, parameters):
    before = {name: {member: parameters}}
    assert len(list(missing(before, public_names()))) == 1


@for_each("path", PATHS)
def test_what_documents_imported_is_still_imported_from_there(path):
    module = importlib.import_module(path)
    for name in PATHS[path]:
        assert getattr(module, name) is not None
    with pytest.raises(AttributeError):
        module.never  # noqa: B018
