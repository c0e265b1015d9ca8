"""The page of a collector: estimates with intervals, all in one file, brought up to date by itself.

It asks nothing of any other host, and its policy keeps the browser from doing so.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..inference.many import ManyEstimates
from ..labels import counted, label_text
from ..release._identifiability import designed_question
from ..views import tables
from ..views.html import SCROLLED, escape, html_table
from .estimates import Running

#: Seconds between two looks.
EVERY = 2
_SHOWN = 40
# That of the pages of reports, and what only this one shows.
_REPORTS = (Path(__file__).parents[1] / "views/templates/base.html.j2").read_text(encoding="utf-8")
_STYLE = f"""{_REPORTS.partition("<style>")[2].partition("</style>")[0]}
h2, .hint {{ overflow-wrap: anywhere; }}
main .scroll th, main .scroll td:not(.n) {{ overflow-wrap: normal; }}
.bad {{ color: var(--bad); }}
svg {{ width: 100%; max-width: 44rem; height: auto; display: block; margin: .6rem 0; }}
svg text {{ font: 12px system-ui, sans-serif; fill: var(--ink); }}
svg .axis {{ stroke: var(--line); }}
svg .interval {{ stroke: var(--blue); stroke-width: 2; }}
svg .point {{ fill: var(--blue); }}
"""
_SCRIPT = f"""
"use strict";
const state = document.getElementById("state");
async function look() {{
  try {{
    const answer = await fetch(location.href, {{ cache: "no-store" }});
    if (!answer.ok) throw new Error(String(answer.status));
    const next = new DOMParser().parseFromString(await answer.text(), "text/html");
    const now = document.getElementById("estimates"), then = next.getElementById("estimates");
    if (now.innerHTML !== then.innerHTML) now.replaceWith(document.adoptNode(then));
    state.textContent = "";
  }} catch (problem) {{
    state.textContent = "The collector does not answer; what is shown may be old.";
  }}
  setTimeout(look, {EVERY * 1000});
}}
setTimeout(look, {EVERY * 1000});
"""


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


#: What the browser may load and run: this page, and nothing else.
POLICY = (
    f"default-src 'none'; style-src 'sha256-{_hash(_STYLE)}'; "
    f"script-src 'sha256-{_hash(_SCRIPT)}'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def page(running: Sequence[Running], others: Mapping[str, int]) -> str:
    """The page as HTML.

    Parameters
    ----------
    running : what is known of each kernel
    others : kernels that are in the database, but not collected now, with their reports
    """
    parts = [_section(one) for one in running]
    if others:
        reports, kernels = sum(others.values()), counted(len(others), "other kernel")
        parts.append(
            f'<p class="hint">The database holds {counted(reports, "report")} of {kernels}, '
            "not collected now.</p>"
        )
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="icon" href="data:,"><title>mechdesign collector</title>'
        f"<style>{_STYLE}</style></head><body><header><h1>What reports say so far</h1>"
        '<p class="lead">Reports were made private before they were sent; no secret is here. '
        "Intervals are for one look: stopping at a result that pleases makes errors more frequent."
        "</p></header><main>"
        '<p id="state" class="bad" role="status"></p>'
        f'<div id="estimates">{"".join(parts)}</div>'
        f"</main><script>{_SCRIPT}</script></body></html>"
    )


def _section(running: Running) -> str:
    collected, made = running.collected, running.estimate
    kept = ", ".join(collected.receipt.notions) or "no guarantee is stated"
    parts = [
        f"<h2>{escape(collected.name)}</h2>",
        f'<p><b class="reports">{len(running.counts):,}</b> reports. {escape(kept)}.</p>',
        f'<p class="hint">Kernel {escape(collected.digest)}</p>',
    ]
    if designed_question(collected.public) is not None:
        parts.append('<p class="hint">The design was made for the answers below.</p>')
    if collected.has_changed:
        parts.append(
            f'<p class="bad">{escape(collected.name)} has changed since the collector began; it '
            "goes on with what it read then.</p>"
        )
    if running.problem:
        parts.append(f'<p class="problem">{escape(running.problem)}</p>')
    parts += [f'<p class="hint">{escape(note)}</p>' for note in running.notes]
    if made is None:
        return f"<section>{''.join(parts)}</section>"
    if isinstance(made, ManyEstimates):
        rows, table = made.top(_SHOWN), tables.many_estimates_table(made, _SHOWN)
        told = made.describe(together=True)
    else:
        rows, table = made.rows()[:_SHOWN], tables.intervals_table(made)
        told = made.describe()
    parts.append(f'<p class="hint">{escape(told)}.</p>{_picture(rows)}')
    parts.append(f"{SCROLLED}{html_table(table)}</div>")
    return f"<section>{''.join(parts)}</section>"


def _picture(rows: Sequence[Mapping[str, object]]) -> str:
    """Estimates as points on their intervals; numbers are in the table below."""
    numbers = [[float(str(row[name])) for name in ("lower", "estimate", "upper")] for row in rows]
    low = min(0.0, *(min(row) for row in numbers))
    high = max(*(max(row) for row in numbers), low + 1e-9)
    height, left, width = 22, 190, 440

    def x(value: float) -> str:
        return f"{left + width * (value - low) / (high - low):.1f}"

    parts = []
    for i, (row, (lower, value, upper)) in enumerate(zip(rows, numbers, strict=True)):
        y = height * i + height / 2
        name = label_text(row["label"])
        shown = name if len(name) <= 28 else f"{name[:27]}…"
        parts.append(
            f'<text x="{left - 10}" y="{y + 4}" text-anchor="end">{escape(shown)}</text>'
            f'<line x1="{x(lower)}" x2="{x(upper)}" y1="{y}" y2="{y}" '
            f'class="interval"/><circle cx="{x(value)}" cy="{y}" r="4" class="point"/>'
            f'<text x="{left + width + 8}" y="{y + 4}">{value:.3f}</text>'
        )
    zero = x(0.0)
    total = height * len(rows)
    axis = f'<line x1="{zero}" x2="{zero}" y1="0" y2="{total}" class="axis"/>'
    return (
        f'<svg viewBox="0 0 {left + width + 70} {total}" role="img" '
        f'aria-label="Estimates with their intervals">{axis}{"".join(parts)}</svg>'
    )
