"""What is declared of arguments is refused by it: bad values come from the declarations."""

from __future__ import annotations

import inspect

import pytest
from checks import for_each, refused

import mechdesign as md
from mechdesign.checks import Flag, Number, Whole, checked
from mechdesign.errors import InputError, LevelError

PRIOR = md.Prior.from_counts([3, 2])
FLIP = md.Mechanism([[0.75, 0.25], [0.25, 0.75]])
#: A call of each function that declares arguments, which is right but for what is added.
CALLS = {
    "Prior.rounded": (PRIOR.rounded, {"digits": 2}),
    "Prior.with_noise": (PRIOR.with_noise, {"epsilon": 1, "seed": 1}),
    "Mechanism.__init__": (md.Mechanism, {"kernel": [[1.0]]}),
    "Mechanism.from_weights": (md.Mechanism.from_weights, {"weights": [[1]], "bits": 0}),
    "Mechanism.mix": (FLIP.mix, {"other": FLIP, "weight": 0.5}),
    "try_out": (md.try_out, {"data": PRIOR, "people": 300, "rng": 1}),
    "subset_selection": (md.subset_selection, {"symbols": 3, "privacy": md.LDP(1)}),
}


def declaring():
    """Public functions, and methods of public classes, that declare arguments."""
    for name in md.__all__:
        value = getattr(md, name)
        pairs = {name: value}
        if inspect.isclass(value):
            pairs = {f"{name}.{k}": getattr(v, "__func__", v) for k, v in vars(value).items()}
        for path, function in pairs.items():
            if hasattr(function, "declared"):
                yield path, function.declared


@for_each(("path", "declared"), declaring)
def test_bad_values_are_refused_in_one_line_that_names_the_argument(path, declared):
    call, right = CALLS[path]
    call(**right)
    for name, what in declared.items():
        for value in what.bad:
            found = refused(lambda name=name, value=value: call(**{**right, name: value}))
            assert found.subject == (getattr(what, "subject", "") or name)


def test_arguments_are_checked_however_they_are_given_and_handed_on_as_they_are():
    @checked(LevelError, a=Number(0, 1), b=Whole(1, 3, "times"), c=Flag())
    def asked(a, b=None, *, c=True):
        return a, b, c

    assert asked(0.5) == (0.5, None, True)
    assert asked(1, b=3, c=False) == (1, 3, False)
    assert inspect.signature(asked).parameters.keys() == {"a", "b", "c"}
    refused(lambda: asked(2), "a: expected a finite number from 0 to 1", error=LevelError)
    refused(lambda: asked(None), "a: expected", error=LevelError)
    refused(lambda: asked(0, 4), "times: expected a whole number from 1 to 3", error=LevelError)
    refused(lambda: asked(0, c="yes"), "c: expected True or False", error=LevelError)
    with pytest.raises(TypeError):
        asked()
    with pytest.raises(InputError):
        asked(a=float("nan"))
