"""The desk: newest settings answered first, nothing out of date shown; and who may visit."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys

import pytest
from checks import refused

import mechdesign as md
from mechdesign.cli import main
from mechdesign.errors import SolverError
from mechdesign.explorer import desk as desk_module
from mechdesign.explorer import serving, working
from mechdesign.explorer.answering import answer
from mechdesign.explorer.desk import HASTE, PATIENCE, Desk
from mechdesign.explorer.frontiers import GRID, frontier_key, points, span
from mechdesign.explorer.settings import Settings

START = Settings.of_prior(md.Prior([0.5, 0.3, 0.2], ["a", "b", "c"]))


class Watch:
    """A view that writes down what it is told."""

    def __init__(self):
        self.told = []
        self.busy = None

    def show_settings(self, settings):
        self.told.append(("settings", settings))

    def show_busy(self, busy):
        self.busy = busy

    def show_answer(self, found):
        self.told.append(("answer", found))

    def show_problem(self, text, *, of_design):
        self.told.append(("problem" if of_design else "refusal", text))

    def show_frontier(self, curves, ends, state):
        # What the desk says must be of the settings at this moment.
        if curves:
            assert [c.demand.name for c in curves] == [d.name for d in self.desk.settings.demands]
        self.told.append(("frontier", (curves, ends, state)))

    def show_rivals(self, found):
        self.told.append(("rivals", found))

    def announce(self, found):
        self.told.append(("announced", found))

    def of(self, kind):
        return [what for name, what in self.told if name == kind]


class Lanes:
    """Runs work in threads, and can be told to hold back what may come later."""

    def __init__(self):
        self.calls = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def soon(self, work, *arguments):
        self.calls.append(("soon", arguments))
        return await asyncio.to_thread(work, *arguments)

    async def later(self, work, *arguments):
        self.calls.append(("later", arguments))
        await self.gate.wait()
        return await asyncio.to_thread(work, *arguments)

    def limits(self):
        """How long each answer was allowed to take."""
        return [a[2] for _, a in self.calls if len(a) == 3 and a[0] is answer]


def played(play, settings=START, monkeypatch=None):
    """Run a scene with a desk; returns its view."""

    async def scene():
        view, lanes = Watch(), Lanes()
        view.desk = desk = Desk(settings, view, lanes.soon, lanes.later)
        await play(desk, view, lanes)
        desk.close()
        await asyncio.sleep(0)
        return view

    return asyncio.run(scene())


async def until(condition):
    """Wait for a state; the limit only keeps a test from waiting for ever."""
    async with asyncio.timeout(300):
        while not condition():
            await asyncio.sleep(0.005)


def complete(view):
    """Whether a frontier is on the page with nothing more to come."""
    return bool(view.of("frontier")) and view.of("frontier")[-1][2] == ""


def test_a_change_is_answered_then_compared_and_announced():
    async def play(desk, view, lanes):
        desk.refresh()
        assert view.busy is True
        await until(lambda: view.of("announced") and complete(view))
        assert view.busy is False
        assert lanes.limits() == [HASTE]

    view = played(play)
    (found,) = view.of("answer")
    assert found.found.value == md.design(START.prior(), md.utility.Hamming(), md.PML(0.5)).value
    curves, ends, state = view.of("frontier")[-1]
    assert state == ""
    assert [len(curve.points) for curve in curves] == [len(GRID)] * 3
    assert curves[0].points == points(START, (START.demands[0], GRID))
    assert ends == span(START)
    assert [rival.demand.name for rival in view.of("rivals")[-1]] == ["lip", "ldp"]
    assert view.of("announced") == [found]


def test_only_the_newest_of_many_changes_is_answered_last():
    async def play(desk, view, lanes):
        for k in range(30):
            desk.change(lambda s, k=k: s.with_share(0, 0.3 + k / 100))
        assert len(view.of("settings")) == 30
        await until(lambda: view.of("announced"))

    view = played(play)
    answers = view.of("answer")
    assert len(answers) < 30
    assert answers[-1].settings == view.of("settings")[-1]
    seen = [a.settings.weights[0] for a in answers]
    assert seen == sorted(seen)


def test_a_frontier_that_is_overtaken_is_never_shown():
    async def play(desk, view, lanes):
        lanes.gate.clear()
        desk.refresh()
        await until(lambda: view.of("answer"))
        desk.change(lambda s: s.with_share(0, 0.9))
        await until(lambda: len(view.of("answer")) == 2)
        lanes.gate.set()
        await until(lambda: complete(view))
        await until(lambda: not desk._tasks)

    view = played(play)
    changed = view.of("settings")[-1]
    for curves, ends, _ in view.of("frontier"):
        if curves:
            assert ends == span(changed)
            assert curves[0].points == points(changed, (changed.demands[0], GRID))


def test_an_old_frontier_goes_while_the_new_one_takes_its_time(monkeypatch):
    monkeypatch.setattr(desk_module, "GRACE", 0.05)

    async def play(desk, view, lanes):
        desk.refresh()
        await until(lambda: complete(view))
        lanes.gate.clear()
        desk.change(lambda s: s.with_share(0, 0.9))
        await until(lambda: view.of("frontier")[-1][2] == "computing")
        assert view.of("frontier")[-1][0] == ()
        # Another change meanwhile does not bring it back.
        desk.change(lambda s: s.with_demand("pml", levels=(0.1,)))
        await until(lambda: len(view.of("answer")) == 3)
        assert view.of("frontier")[-1][0] == ()
        lanes.gate.set()
        await until(lambda: complete(view))
        assert len(view.of("frontier")[-1][0]) == 3

    played(play)


def test_a_new_level_keeps_the_frontier_and_moves_the_design_in_it():
    async def play(desk, view, lanes):
        desk.refresh()
        await until(lambda: complete(view) and view.of("announced"))
        before = view.of("frontier")[-1]
        drawn = len(view.of("frontier"))
        spans = sum(a[0] is span for _, a in lanes.calls)
        desk.change(lambda s: s.with_demand("pml", levels=(0.25,)))
        await until(lambda: len(view.of("announced")) == 2)
        assert view.of("frontier")[drawn:] == [before]
        assert sum(a[0] is span for _, a in lanes.calls) == spans
        assert frontier_key(desk.settings) == frontier_key(START)

    played(play)


@pytest.mark.filterwarnings("ignore::mechdesign.errors.GapWarning")
def test_a_hasty_design_is_improved_and_not_announced_before(monkeypatch):
    monkeypatch.setattr(desk_module, "HASTE", 0.001)
    monkeypatch.setattr(desk_module, "pieces", lambda settings: [])
    settings = Settings.of_prior(md.Prior.uniform(16)).zipf().with_utility("mutual-information")

    async def play(desk, view, lanes):
        desk.refresh()
        await until(lambda: view.of("announced"))
        assert lanes.limits() == [0.001, PATIENCE]

    view = played(play, settings)
    first, second = view.of("answer")
    assert not first.is_final
    assert second.is_final
    assert view.of("announced") == [second]


def test_a_change_that_is_refused_changes_nothing():
    async def play(desk, view, lanes):
        desk.refresh()
        await until(lambda: view.of("answer"))
        assert desk.change(lambda s: s.with_share(0, 2.0)) is False
        assert desk.settings == START
        assert desk.answer is not None

    view = played(play)
    assert "from 0 to 1" in view.of("refusal")[0]
    assert len(view.of("answer")) == 1


def test_a_change_to_what_is_set_already_costs_nothing():
    async def play(desk, view, lanes):
        assert desk.change(lambda s: s.with_utility("hamming")) is True
        assert view.busy is None
        assert lanes.calls == []

    played(play)


def test_settings_without_a_design_say_why_and_keep_the_frontier():
    async def play(desk, view, lanes):
        desk.refresh()
        await until(lambda: view.of("announced"))
        desk.change(lambda s: s.with_demand("pml", held=False))
        await until(lambda: view.of("problem"))
        assert desk.answer is None
        desk.change(lambda s: s.with_demand("pml", held=True))
        await until(lambda: len(view.of("announced")) == 2)

    view = played(play)
    assert "at least one notion" in view.of("problem")[0]
    assert all(len(curves) == 3 for curves, _, _ in view.of("frontier"))


def test_settings_without_a_frontier_say_why():
    async def play(desk, view, lanes):
        desk.refresh()
        await until(lambda: view.of("frontier"))

    view = played(play, START.with_utility("absolute"))
    curves, ends, state = view.of("frontier")[-1]
    assert (curves, ends) == ((), None)
    assert "numeric labels" in state


def test_a_notion_that_no_method_designs_for_says_why():
    settings = START.with_notion("maximalleakage").with_utility("total-variation")

    async def play(desk, view, lanes):
        desk.refresh()
        await until(lambda: complete(view))

    view = played(play, settings)
    *others, last = view.of("frontier")[-1][0]
    assert "no method applies" in last.problem
    assert last.points == ()
    assert all(len(curve.points) == len(GRID) for curve in others)


@pytest.mark.parametrize(
    ("failure", "kind", "word"),
    [
        (ZeroDivisionError("oh"), "problem", "internal error: ZeroDivisionError"),
        (SolverError("ended from outside"), "refusal", "ended from outside"),
    ],
)
def test_work_that_fails_is_told(failure, kind, word, caplog):
    async def play(desk, view, lanes):
        async def later(work, *arguments):
            raise failure

        desk._later = later
        desk.refresh()
        await until(lambda: view.of(kind))

    view = played(play)
    assert word in view.of(kind)[0]
    assert ("failed" in caplog.text) == (kind == "problem")


def test_a_server_that_stops_shows_nothing_more():
    async def play(desk, view, lanes):
        async def nothing(work, *arguments):
            return None

        desk._soon = desk._later = nothing
        desk.refresh()
        await until(lambda: not desk._tasks)

    view = played(play)
    assert not view.of("answer")
    assert not view.of("problem")


def test_a_visitor_who_leaves_stops_the_work():
    async def play(desk, view, lanes):
        lanes.gate.clear()
        desk.refresh()
        await until(lambda: view.of("answer"))
        desk.close()
        calls = len(lanes.calls)
        lanes.gate.set()
        await until(lambda: not desk._tasks)
        assert len(lanes.calls) == calls

    played(play)


def test_comparisons_of_other_settings_go_with_the_next_answer():
    async def play(desk, view, lanes):
        desk.refresh()
        await until(lambda: view.of("announced"))
        lanes.gate.clear()
        # They hold for another level of what is designed, and for nothing else.
        desk.change(lambda s: s.with_demand("pml", levels=(0.25,)))
        await until(lambda: len(view.of("answer")) == 2)
        assert [r.demand.name for r in view.of("rivals")[-1]] == ["lip", "ldp"]
        desk.change(lambda s: s.with_demand("lip", levels=(0.25,)))
        await until(lambda: len(view.of("answer")) == 3)
        assert [r.demand.name for r in view.of("rivals")[-1]] == ["ldp"]
        desk.change(lambda s: s.with_utility("mutual-information"))
        await until(lambda: len(view.of("answer")) == 4)
        assert view.of("rivals")[-1] == []
        lanes.gate.set()
        await until(lambda: len(view.of("rivals")[-1]) == 2)

    played(play)


def test_a_frontier_that_failed_is_computed_at_the_next_change():
    async def play(desk, view, lanes):
        async def later(work, *arguments):
            raise SolverError("ended from outside")

        desk._later, good = later, desk._later
        desk.refresh()
        await until(lambda: view.of("frontier"))
        assert view.of("frontier")[-1][2] == "not computed"
        desk._later = good
        desk.change(lambda s: s.with_demand("pml", levels=(0.25,)))
        await until(lambda: view.of("frontier")[-1][2] == "")
        assert len(view.of("frontier")[-1][0]) == 3

    played(play)


def test_an_answer_that_fails_leaves_no_mark_and_newer_settings_are_answered(caplog):
    async def play(desk, view, lanes):
        waiting = []

        async def soon(work, *arguments):
            waiting.append(arguments)
            await lanes.gate.wait()
            raise ZeroDivisionError("oh")

        desk._soon, good = soon, desk._soon
        desk.refresh()
        await until(lambda: view.of("problem"))
        assert view.busy is False
        lanes.gate.clear()
        desk.refresh()
        await until(lambda: len(waiting) == 2)
        desk.change(lambda s: s.with_share(0, 0.2))
        desk._soon = good
        lanes.gate.set()
        await until(lambda: view.of("answer"))

    view = played(play)
    assert view.of("answer")[-1].settings.weights[0] == 0.2
    assert caplog.text.count("ZeroDivisionError: oh") == 1


def test_two_desks_share_nothing():
    async def scene():
        views = [Watch(), Watch()]
        lanes = Lanes()
        for view, share in zip(views, (0.1, 0.8), strict=True):
            view.desk = Desk(START, view, lanes.soon, lanes.later)
            view.desk.change(lambda s, share=share: s.with_share(0, share))
        await until(lambda: all(view.of("announced") for view in views))
        for view in views:
            view.desk.close()
        return views

    for view, share in zip(asyncio.run(scene()), (0.1, 0.8), strict=True):
        assert view.of("announced")[0].settings.weights[0] == share


def test_other_processes_are_polite_only_where_they_are_other():
    assert working.politely(divmod, 7, 2) == (3, 1)
    assert working._step_back.cache_info().currsize == 0


ORPHAN = """
import multiprocessing, os, time
from concurrent.futures import ProcessPoolExecutor
from mechdesign.explorer.working import politely

if __name__ == "__main__":
    pool = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))
    print(pool.submit(politely, os.getpid).result(), flush=True)
    os.kill(os.getpid(), 9)
"""


@pytest.mark.skipif(os.name != "posix", reason="ended by a signal")
def test_other_processes_end_with_a_server_that_is_killed(tmp_path):
    (tmp_path / "orphan.py").write_text(ORPHAN, encoding="utf-8")
    # The pipe is closed when the last process that holds it is gone.
    done = subprocess.run(
        [sys.executable, str(tmp_path / "orphan.py")], stdout=subprocess.PIPE, timeout=300
    )
    assert int(done.stdout) > 0
    assert done.returncode == -9


# Serving


@pytest.mark.parametrize(
    ("host", "origin", "good"),
    [
        ("127.0.0.1:8765", None, True),
        ("localhost:8765", None, True),
        ("LOCALHOST", None, True),
        ("127.0.0.1:8765", "http://127.0.0.1:8765", True),
        ("localhost:9000", "http://localhost:9000", True),
        ("127.0.0.1:8765", "http://localhost:8765", False),
        ("127.0.0.1:8765", "http://127.0.0.1:3000", False),
        ("127.0.0.1:8765", "https://evil.example", False),
        ("127.0.0.1:8765", "null", False),
        ("evil.example:8765", None, False),
        ("evil.example:8765", "http://evil.example:8765", False),
        ("127.0.0.1.evil.example", None, False),
        ("0.0.0.0:8765", None, False),
        ("", None, False),
    ],
)
@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_only_this_machine_and_this_page_are_answered(kind, host, origin, good):
    inside, sent = [], []

    async def app(scope, receive, send):
        inside.append(scope)
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def send(message):
        sent.append(message)

    headers = [(b"host", host.encode())] if host else []
    headers += [(b"origin", origin.encode())] if origin else []
    scope = {"type": kind, "headers": headers}
    asyncio.run(serving.OnlyLocal(app)(scope, None, send))
    assert bool(inside) is good
    if good:
        found = dict(sent[0]["headers"])
        assert b"connect-src 'self'" in found[b"content-security-policy"]
        assert b"http" not in found[b"content-security-policy"]
    elif kind == "http":
        assert sent[0]["status"] == 403
    else:
        assert sent == [{"type": "websocket.close", "code": 1008}]


@pytest.mark.parametrize(
    ("site", "dest", "good"),
    [
        ("none", "document", True),
        ("same-origin", "script", True),
        ("cross-site", "document", True),
        ("same-site", "document", True),
        ("cross-site", "image", False),
        ("cross-site", "iframe", False),
        ("same-site", "script", False),
    ],
)
def test_foreign_pages_may_link_here_and_no_more(site, dest, good):
    headers = {b"host": b"localhost:8765", b"sec-fetch-site": site.encode()}
    assert serving.is_local(headers | {b"sec-fetch-dest": dest.encode()}) is good


def test_other_events_pass():
    seen = []

    async def app(scope, receive, send):
        seen.append(scope["type"])

    asyncio.run(serving.OnlyLocal(app)({"type": "lifespan"}, None, None))
    assert seen == ["lifespan"]


@pytest.fixture
def taken():
    with socket.socket() as held:
        held.bind((serving.HOST, 0))
        held.listen()
        yield held.getsockname()[1]


def test_a_port_that_is_taken_is_refused_or_passed_over(taken, monkeypatch):
    refused(lambda: serving.find_port(taken), "--port", str(taken))
    refused(lambda: serving.find_port(70_000), "--port")
    assert serving.find_port(0) > 0
    monkeypatch.setattr(serving, "PORT", taken)
    assert taken < serving.find_port(None) < taken + serving.TRIES
    monkeypatch.setattr(serving, "TRIES", 1)
    refused(lambda: serving.find_port(None), str(taken), "--port")


def test_without_nicegui_the_command_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "nicegui", None)
    assert main(["explore"]) == 3
    captured = capsys.readouterr()
    assert "pip install 'mechdesign[explore]'" in captured.err
    assert captured.out == ""


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--prior", "0.5,0.6"], "sum 1.1"),
        (["titanic"], "--column"),
        (["titanic", "--column", "deck"], "deck"),
        (["--prior", ",".join(["0.0125"] * 80)], "at most 50"),
        (["--column", "deck"], "deck"),
    ],
)
def test_a_prior_that_cannot_be_used_is_refused_before_anything_is_served(words, text, capsys):
    assert main(["explore", "--no-browser", *words]) == 2
    captured = capsys.readouterr()
    assert text in captured.err
    assert captured.out == ""


def test_the_port_of_the_command_is_checked(taken, capsys):
    assert main(["explore", "--no-browser", "--port", str(taken)]) == 2
    assert f"{taken}, which is taken" in capsys.readouterr().err
