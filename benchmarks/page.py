"""How fast the page responds, in the browser: ``python -m benchmarks.page time`` (and ``picture``).

Serves the page, opens it in Chromium, and makes changes as a hand would: a bar is moved, a level, a
tick, the utility. The clock of the browser runs from the change to the moment when the new kernel
is in the document, and to the frame after that. Changes follow one another while the frontier of
the one before is still being computed. Prints a line for each size and utility.
"""

from __future__ import annotations

import os
import shutil
import signal
import statistics
import subprocess
import sys
from typing import Annotated, Any

import typer

FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"),
    *("--disable-component-update", "--disable-sync"),
)
#: Milliseconds between a change and the new kernel in the document, and to the next frame.
TIMED = """
([selector, value, patience]) => new Promise((done) => {
  const input = document.querySelector(selector);
  const watch = new MutationObserver(() => {
    watch.disconnect();
    const changed = performance.now() - start;
    requestAnimationFrame(() => setTimeout(() => done([changed, performance.now() - start])));
  });
  // Some changes leave the kernel as it is; the value and the checks above it say that they came.
  for (const box of document.querySelectorAll(".kernel-box, .tiles-box"))
    watch.observe(box, { childList: true, subtree: true, characterData: true });
  let start = performance.now();
  if (input.type === "range") {
    input.value = value;
    input.dispatchEvent(new Event("input"));
    input.dispatchEvent(new Event("change"));
  } else input.click();
  setTimeout(() => done(null), patience);
})
"""
#: Milliseconds after which a change counts as without effect.
PATIENCE = 5000


def prior(symbols: int) -> str:
    """Unequal masses on numbered symbols, as an argument of the command line."""
    weights = [1 + (7 * i % symbols) / 3 for i in range(symbols)]
    return ",".join(f"{i}={w / sum(weights)!r}" for i, w in enumerate(weights))


def find_chromium() -> str | None:
    """Chromium or Chrome of this machine."""
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    return next(filter(None, map(shutil.which, names)), None)


class Served:
    """The page in a process of its own, ended as by Ctrl-C when the block is left.

    ``code`` is its exit code then, and ``said`` what it wrote to standard error.
    """

    code: int
    said: str

    def __init__(self, *arguments: str) -> None:
        words = [sys.executable, "-m", "mechdesign", "explore", "--no-browser", "--port", "0"]
        clean = {k: v for k, v in os.environ.items() if k != "PYTEST_CURRENT_TEST"}
        self.process = subprocess.Popen(
            [*words, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=clean,
        )

    def __enter__(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def __exit__(self, *_: object) -> None:
        self.process.send_signal(signal.SIGINT)
        try:
            self.said = self.process.communicate(timeout=300)[1]
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        self.code = self.process.returncode


def changes(page: Any, rounds: int) -> list[tuple[float, float]]:
    """Times of moves of bars and of the level, in milliseconds."""
    times = []
    for k in range(rounds):
        top = float(page.locator("input.share").first.get_attribute("max"))
        moves = (
            (".bar input.share", str(round(top * (0.2 + 0.05 * (k % 10)), 4))),
            (".level input[type=range]", str(round(-1.2 + 0.2 * (k % 9), 2))),
        )
        for move in moves:
            found = page.evaluate(TIMED, [*move, PATIENCE])
            if found is None:
                raise RuntimeError(f"no new kernel after {move}")
            times.append(tuple(found))
            page.wait_for_timeout(150)
    return times


def choose(page: Any, label: str) -> None:
    """Choose a utility by its name."""
    page.get_by_role("combobox", name="Utility").click()
    page.get_by_role("option", name=label).click()
    page.wait_for_timeout(600)


app = typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode=None)


@app.command()
def picture(
    path: Annotated[str, typer.Argument(help="File to write, a PNG.")],
    chromium: Annotated[str | None, typer.Option(help="The browser, if it is not found.")] = None,
) -> None:
    """Save a picture of the page as it begins."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver, Served() as url:
        browser = driver.chromium.launch(
            executable_path=chromium or find_chromium(), args=list(FLAGS)
        )
        page = browser.new_page(viewport={"width": 1280, "height": 1060})
        page.goto(url)
        page.wait_for_selector("ul.alternatives")
        page.wait_for_function("!document.body.innerText.includes('computing')")
        page.wait_for_timeout(1500)  # bars and lines grow to their places
        page.screenshot(path=path)
        browser.close()


@app.command()
def time(
    sizes: Annotated[str, typer.Option(help="Numbers of symbols.")] = "3,6,20",
    rounds: Annotated[int, typer.Option(help="Changes of each kind.")] = 12,
    chromium: Annotated[str | None, typer.Option(help="The browser, if it is not found.")] = None,
    limit: Annotated[float, typer.Option(help="Milliseconds that no change may exceed.")] = 2000.0,
) -> None:
    """Measure and print; exit code 1 when a change took longer than the limit."""
    slow = False
    from playwright.sync_api import sync_playwright

    utilities = ("Hamming", "Absolute error", "Mutual information", "Chi-square")
    print("milliseconds from a change to the new kernel (median, largest; to the frame after it)")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=chromium or find_chromium(), args=list(FLAGS)
        )
        for size in map(int, sizes.split(",")):
            with Served("--prior", prior(size)) as url:
                page = browser.new_page(viewport={"width": 1280, "height": 900})
                page.goto(url)
                page.wait_for_selector("table.kernel")
                for name in utilities:
                    choose(page, name)
                    shown, drawn = zip(*changes(page, rounds), strict=True)
                    slow |= max(shown) > limit
                    print(
                        f"{size:3} symbols, {name:<20} {statistics.median(shown):4.0f} "
                        f"{max(shown):4.0f}; {statistics.median(drawn):4.0f} {max(drawn):4.0f}",
                        flush=True,
                    )
                page.close()
        browser.close()
    if slow:
        raise typer.Exit(1)


if __name__ == "__main__":
    app()
