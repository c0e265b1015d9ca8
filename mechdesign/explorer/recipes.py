"""Lines that make the same design without the page: Python, and the command line."""

from __future__ import annotations

import json
import math
import shlex

from .settings import Settings

_CALLS = {
    "hamming": "md.utility.Hamming()",
    "absolute": 'md.utility.Distance("absolute")',
    "squared": 'md.utility.Distance("squared")',
    "mutual-information": "md.utility.MutualInformation()",
    "total-variation": "md.utility.TotalVariation()",
    "chi-square": "md.utility.ChiSquare()",
}
#: The name that both give to the saved design.
FILE = "mechanism.json"


def python_lines(settings: Settings) -> str:
    """A script that designs the same mechanism and saves it."""
    notions = [
        f"md.{demand.title}({', '.join(_number(level) for level in demand.levels)})"
        for demand in settings.demands
        if demand.held
    ]
    privacy = notions[0] if len(notions) == 1 else f"[{', '.join(notions)}]"
    return "\n".join(
        [
            "import mechdesign as md",
            "",
            f"prior = {_prior_call(settings)}",
            f"found = md.design(prior, {_CALLS[settings.utility]}, {privacy})",
            f'md.save(found, "{FILE}")',
        ]
    )


def shell_lines(settings: Settings) -> str:
    """A command line that designs the same mechanism and saves it.

    Names that an argument cannot hold (with a comma, say) go by way of a JSON file.
    """
    first = ""
    words = ["mechdesign", "design"]
    source = settings.source
    if source is not None:
        words += [source.table, "--column", source.column]
        words += [] if source.weights is None else ["--weights", source.weights]
        words += [] if source.missing == "error" else ["--missing", source.missing]
    elif all("," not in name and name == name.strip() for name in settings.names):
        pairs = zip(settings.names, settings.weights, strict=True)
        words += ["--prior", ",".join(f"{name}={mass!r}" for name, mass in pairs)]
    else:
        content = json.dumps(dict(zip(settings.names, settings.weights, strict=True)))
        first = f"printf %s {shlex.quote(content)} > prior.json\n"
        words += ["--prior", "prior.json"]
    for demand in settings.demands:
        if demand.held:
            words += ["--privacy", demand.notion.spec]
    words += ["--utility", settings.utility, "--output", FILE]
    return first + shlex.join(words)


def _prior_call(settings: Settings) -> str:
    source = settings.source
    if source is None:
        masses = ", ".join(map(repr, settings.weights))
        return f"md.Prior([{masses}], {settings.labels!r})"
    words = [repr(source.table), repr(source.column)]
    words += [] if source.weights is None else [f"weights={source.weights!r}"]
    words += [] if source.missing == "error" else [f"missing={source.missing!r}"]
    return f"md.Prior.from_csv({', '.join(words)})"


def _number(level: float) -> str:
    return 'float("inf")' if level == math.inf else repr(level)
