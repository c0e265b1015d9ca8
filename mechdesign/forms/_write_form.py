"""``write_form``: a page on which the public answers, and a collector that it sends to."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from ..devices._export import device_module
from ..devices.javascript import Device
from ..errors import DisclosureWarning, InputError, quote, warn
from ..files import check_writable, write_text
from ..release.receipts import make_receipt
from ..views.html import escape
from .protection import Protection, protection
from .wording import Asked, Wording, read_wording

_HERE = Path(__file__).parent
# Where the page of a collector is, and where that takes reports, seen from there.
PLACE, REPORTS = "form", "reports"
# An address that can stand in the policy of a page as it is.
_ADDRESS = r"https?://([\w.-]+|\[[0-9a-fA-F:]+\])(:[0-9]+)?(/[\w./~-]*)?"


@dataclass(frozen=True, eq=False)
class Form:
    """A page that asks for a report of each column of a design or a plan.

    Attributes
    ----------
    kernels : by column, in their public form
    wording : what it says
    module : the module that draws
    """

    kernels: Mapping[str, Any]
    wording: Wording
    module: str

    @classmethod
    def of(cls, designed: Any, wording: Any) -> Form:
        """The form of a design, a kernel with a matrix, or a plan.

        Raises
        ------
        KernelError
            For what no device can draw: a kernel without a matrix, places of a map.
        InputError
            For wording that does not fit.

        Warns
        -----
        DisclosureWarning
            Where a report may tell the answer.
        """
        kernels, module = device_module(designed)
        made = cls(
            kernels, read_wording(wording, {n: k.inputs for n, k in kernels.items()}), module
        )
        for name, (sentence, _, _) in made.protections.items():
            if sentence == "plain":
                warn(
                    f"{name}: some reports have one possible answer, which they tell; the page "
                    "says so",
                    DisclosureWarning,
                )
        return made

    @cached_property
    def protections(self) -> dict[str, Protection]:
        """What is true of the reports of each column."""
        return {name: protection(kernel) for name, kernel in self.kernels.items()}

    @property
    def guarantees(self) -> str:
        """What the kernels promise, by name."""
        found = {
            notion: None
            for name, kernel in self.kernels.items()
            for notion in make_receipt(kernel, name, Device).notions
        }
        return ", ".join(found)

    def files(self, *, collector: str, folder: str = "") -> dict[str, str]:
        """Text of each file by its name: ``index.html``, and what that loads from ``folder``."""
        return {
            "index.html": self._page(collector, folder),
            "page.css": (_HERE / "page.css").read_text(encoding="utf-8"),
            "page.mjs": (_HERE / "page.mjs").read_text(encoding="utf-8"),
            "client.mjs": self.module,
        }

    def _texts(self, code: str) -> dict[str, str]:
        """All texts of a language, those of the questions with their numbers."""
        texts = dict(self.wording.texts[code])
        for i, (asked, one) in enumerate(
            zip(self.wording.asked[code], self.protections.values(), strict=True)
        ):
            texts[f"question{i}"] = asked.question
            texts[f"protection{i}"] = texts[one.sentence].format(few=one.few, many=one.many)
            texts.update({f"choice{i}.{place}": text for place, text in asked.choices})
        texts["promise"] = texts["promise"].format(guarantee=self.guarantees)
        return texts

    def _outputs(self, code: str) -> list[list[str]]:
        """What each report of each column is called."""
        return [
            [_called(kernel, place, asked) for place in range(len(kernel.outputs))]
            for kernel, asked in zip(self.kernels.values(), self.wording.asked[code], strict=True)
        ]

    def _page(self, collector: str, folder: str) -> str:
        first, *others = codes = list(self.wording.asked)
        texts = {code: self._texts(code) for code in codes}
        here = texts[first]
        questions = [[one.question for one in asked] for asked in self.wording.asked.values()]
        data = {
            "collector": collector,
            # What was answered on a device is kept by it: another survey may have the same kernel.
            "survey": hashlib.sha256(_json(questions).encode()).hexdigest()[:16],
            "languages": codes,
            "shared": self.wording.shared,
            "texts": texts,
            "outputs": {code: self._outputs(code) for code in codes},
        }
        policy = content_policy(collector)
        parts = [
            f'<!DOCTYPE html><html lang="{escape(first)}"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="referrer" content="no-referrer"><link rel="icon" href="data:,">',
            f"<title>{escape(here['title'])}</title>",
            f'<link rel="stylesheet" href="{folder}page.css">',
            f'<script type="module" src="{folder}page.mjs"></script></head><body>',
            _languages(texts, here["other"]) if others else "",
            f"<main><h1 data-text=title>{escape(here['title'])}</h1>",
            f"<p data-text=introduction>{escape(here['introduction'])}</p>"
            if any(one["introduction"] for one in texts.values())
            else "",
            f"<noscript><p class=bad>{escape(here['needs_script'])}</p></noscript><form>",
            *(self._question(i, asked, here) for i, asked in enumerate(self.wording.asked[first])),
            f"<p data-text=drawn>{escape(here['drawn'])}</p>",
            f"<button data-text=send disabled>{escape(here['send'])}</button>",
            f"<p class=guarantee data-text=promise>{escape(here['promise'])}</p>"
            if self.guarantees
            else "",
            '</form><p id="message" role="status" tabindex="-1"></p>',
            '<button id="next" type="button" data-text=next hidden>',
            f"{escape(here['next'])}</button></main>",
            f'<script type="application/json" id="form">{_json(data)}</script></body></html>',
        ]
        return "".join(parts)

    def _question(self, i: int, asked: Asked, texts: Mapping[str, str]) -> str:
        choices = "".join(
            f'<label><input type="radio" name="answer{i}" value="{place}" required>'
            f'<span data-text="choice{i}.{place}">{escape(text)}</span></label>'
            for place, text in asked.choices
        )
        return (
            f'<fieldset><legend data-text="question{i}">{escape(asked.question)}</legend>{choices}'
            f'<p class=protection data-text="protection{i}">'
            f"{escape(texts[f'protection{i}'])}</p></fieldset>"
        )


def content_policy(collector: str) -> str:
    """What a page may load and run: its own files, and the collector for what it sends."""
    where = urlsplit(collector)
    target = f"{where.scheme}://{where.netloc}" if where.scheme else "'self'"
    return (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; "
        f"connect-src {target}; base-uri 'none'; form-action 'none'"
    )


def _languages(texts: Mapping[str, Mapping[str, str]], name: str) -> str:
    options = "".join(
        f'<option value="{escape(code)}" lang="{escape(code)}">{escape(part["name"])}</option>'
        for code, part in texts.items()
    )
    return f'<header><select id="language" aria-label="{escape(name)}">{options}</select></header>'


def _called(kernel: Any, place: int, asked: Asked) -> str:
    """What a report is called: as the choice that it is, or those that send it most often."""
    output, column = kernel.outputs[place], kernel.weights[:, place]
    if output in kernel.inputs:
        return asked.called(kernel.inputs.index(output))
    return " / ".join(asked.called(int(x)) for x in np.flatnonzero(column == column.max()))


def _json(data: Any) -> str:
    """JSON that does not end the script it stands in."""
    return json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")


def write_form(
    designed: Any, folder: str | Path, wording: Any, *, collector: str, overwrite: bool = False
) -> str:
    """Write a page on which the public answers, for a host of its own, into a folder.

    The page draws the report in the browser of whoever answers, keeps it until the collector has
    it, and sends nothing else. ``mechdesign serve --form`` serves the same page itself.

    Parameters
    ----------
    designed : Design, Mechanism or KernelPlan
    folder : a folder for ``index.html`` and three files beside it; it is made
    wording : the question; or a file (``.toml``, ``.json``), or what it would hold: ``question``,
        ``choices`` (what each symbol is called), ``introduction``, ``title``, ``language``,
        ``translations`` of these by language, ``shared`` (several people answer on one device),
        and each text of the page by its name. English, German, French and Spanish have all but the
        question.
    collector : address of the collector, such as ``"https://answers.example"``
    overwrite : whether files of these names may exist

    Returns
    -------
    str
        What the collector must be told, so that the page may send to it.

    Raises
    ------
    KernelError
        For what no device can draw: a kernel without a matrix, places of a map.
    InputError
        For wording, or an address, that does not fit.
    StorageError
        When a file exists or cannot be written.

    Examples
    --------
    >>> import tempfile, mechdesign as md
    >>> flip = md.Mechanism([[.75, .25], [.25, .75]], ["no", "yes"], ["no", "yes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     md.write_form(flip, folder, "Have you been here?", collector="https://a.example")
    '--allow-origin https://HOST-OF-THE-PAGE'
    """
    if not isinstance(collector, str) or not re.fullmatch(_ADDRESS, collector):
        raise InputError(
            "collector",
            expected="its address, such as 'https://answers.example'",
            got=quote(collector),
            remedy="pass the one at which it is reached from outside",
        )
    form = Form.of(designed, wording)
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    texts = form.files(collector=f"{collector.rstrip('/')}/{REPORTS}")
    for name in texts:
        check_writable(target / name, overwrite=overwrite)
    for name, text in texts.items():
        write_text(text, target / name, overwrite=overwrite)
    return "--allow-origin https://HOST-OF-THE-PAGE"
