"""The page state: newest settings first, nothing outdated shown; and who may visit."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys

import pytest
from checks import for_each, refused
from guessing import guessing

import mechdesign as md
from mechdesign.cli import main
from mechdesign.errors import SolverError
from mechdesign.explorer import server
from mechdesign.explorer import state as state_module
from mechdesign.explorer.results import (
    LEVELS,
    compute,
    frontier_key,
    frontier_points,
    value_range,
)
from mechdesign.explorer.state import PageState

START = guessing(md.Prior([0.5, 0.3, 0.2], ["a", "b", "c"]))


class View:
    """A view that records its calls."""

    def __init__(self):
        self.calls = []
        self.busy = None

    def show_settings(self, settings):
        self.calls.append(("settings", settings))

    def show_busy(self, busy):
        self.busy = busy

    def show_result(self, result):
        self.calls.append(("result", result))

    def show_problem(self, text, *, of_design):
        self.calls.append(("problem" if of_design else "refusal", text))

    def show_frontier(self, curves, ends, status):
        # What is shown must be of the settings at this moment.
        if curves:
            assert [c.notion.name for c in curves] == [n.name for n in self.state.settings.notions]
        self.calls.append(("frontier", (curves, ends, status)))

    def show_alternatives(self, found):
        self.calls.append(("alternatives", found))

    def announce(self, result):
        self.calls.append(("announced", result))

    def of(self, kind):
        return [what for name, what in self.calls if name == kind]


class Runners:
    """Runs work in threads; work in the background can be held back, and either can be replaced."""

    def __init__(self):
        self.calls = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.instead = {}  # by "foreground" and "background"

    async def foreground(self, work, *arguments):
        self.calls.append(arguments)
        if "foreground" in self.instead:
            return await self.instead["foreground"](work, *arguments)
        return await asyncio.to_thread(work, *arguments)

    async def background(self, work, *arguments):
        self.calls.append(arguments)
        if "background" in self.instead:
            return await self.instead["background"](work, *arguments)
        await self.gate.wait()
        return await asyncio.to_thread(work, *arguments)

    def limits(self):
        """How long each result was allowed to take."""
        return [call[2] for call in self.calls if len(call) == 3 and call[0] is compute]


def played(play, settings=START):
    """Run a scene with a page state; returns its view."""

    async def scene():
        view, runners = View(), Runners()
        view.state = PageState(settings, view, runners.foreground, runners.background)
        await play(view.state, view, runners)
        view.state.close()
        await asyncio.sleep(0)
        return view

    return asyncio.run(scene())


async def until(condition):
    """Wait for a state; the limit only keeps a test from waiting for ever."""
    async with asyncio.timeout(300):
        while not condition():
            await asyncio.sleep(0.005)


def is_idle():
    """Whether no page state has work under way."""
    return not [task for task in asyncio.all_tasks() if task.get_name() == "explorer"]


def complete(view):
    """Whether a frontier is on the page with nothing more to come."""
    return bool(view.of("frontier")) and view.of("frontier")[-1][2] == ""


def test_a_result_is_shown_then_compared_and_announced():
    async def play(state, view, runners):
        state.refresh()
        assert view.busy is True
        await until(lambda: view.of("announced") and complete(view))
        assert view.busy is False
        assert runners.limits() == [0.06]

    view = played(play)
    (found,) = view.of("result")
    assert found.design.value == md.design(START.prior(), md.utility.Hamming(), md.PML(0.5)).value
    curves, ends, status = view.of("frontier")[-1]
    assert status == ""
    assert [len(curve.points) for curve in curves] == [19] * 3
    assert curves[0].points == frontier_points(START, (START.notions[0], LEVELS))
    assert ends == value_range(START)
    assert [found.notion.name for found in view.of("alternatives")[-1]] == ["lip", "ldp"]
    assert view.of("announced") == [found]


def test_the_newest_of_many_changes_has_the_last_result():
    async def play(state, view, runners):
        for k in range(30):
            state.change(lambda s, k=k: s.with_share(0, 0.3 + k / 100))
        assert len(view.of("settings")) == 30
        await until(lambda: view.of("announced"))

    view = played(play)
    results = view.of("result")
    assert len(results) < 30
    assert results[-1].settings == view.of("settings")[-1]
    shown = [a.settings.weights[0] for a in results]
    assert shown == sorted(shown)


def test_a_frontier_that_is_overtaken_is_never_shown():
    async def play(state, view, runners):
        runners.gate.clear()
        state.refresh()
        await until(lambda: view.of("result"))
        state.change(lambda s: s.with_share(0, 0.9))
        await until(lambda: len(view.of("result")) == 2)
        runners.gate.set()
        await until(lambda: complete(view))
        await until(lambda: is_idle())

    view = played(play)
    changed = view.of("settings")[-1]
    for curves, ends, _ in view.of("frontier"):
        if curves:
            assert ends == value_range(changed)
            assert curves[0].points == frontier_points(changed, (changed.notions[0], LEVELS))


def test_an_old_frontier_goes_while_the_new_one_takes_its_time(monkeypatch):
    monkeypatch.setattr(state_module, "STALE_AFTER", 0.05)

    async def play(state, view, runners):
        state.refresh()
        await until(lambda: complete(view))
        runners.gate.clear()
        state.change(lambda s: s.with_share(0, 0.9))
        await until(lambda: view.of("frontier")[-1][2] == "computing")
        assert view.of("frontier")[-1][0] == ()
        # Another change meanwhile does not bring it back.
        state.change(lambda s: s.with_level("pml", 0.1))
        await until(lambda: len(view.of("result")) == 3)
        assert view.of("frontier")[-1][0] == ()
        runners.gate.set()
        await until(lambda: complete(view))
        assert len(view.of("frontier")[-1][0]) == 3

    played(play)


def test_a_new_level_keeps_the_frontier_and_moves_the_design_in_it():
    async def play(state, view, runners):
        state.refresh()
        await until(lambda: complete(view) and view.of("announced"))
        before = view.of("frontier")[-1]
        drawn = len(view.of("frontier"))
        ranges = sum(call[0] is value_range for call in runners.calls)
        state.change(lambda s: s.with_level("pml", 0.25))
        await until(lambda: len(view.of("announced")) == 2)
        assert view.of("frontier")[drawn:] == [before]
        assert sum(call[0] is value_range for call in runners.calls) == ranges
        assert frontier_key(state.settings) == frontier_key(START)

    played(play)


@pytest.mark.filterwarnings("ignore::mechdesign.errors.GapWarning")
def test_a_design_that_is_cut_short_is_improved_and_not_announced_before(monkeypatch):
    monkeypatch.setattr(state_module, "QUICK_LIMIT", 0.001)
    monkeypatch.setattr(state_module, "frontier_pieces", lambda settings: [])
    settings = guessing(md.Prior.uniform(16)).zipf().with_utility("mutual-information")

    async def play(state, view, runners):
        state.refresh()
        await until(lambda: view.of("announced"))
        assert runners.limits() == [0.001, 5.0]

    view = played(play, settings)
    first, second = view.of("result")
    assert not first.design.certificate.is_optimal
    assert second.design.certificate.is_optimal
    assert view.of("announced") == [second]


def test_a_change_that_is_refused_changes_nothing():
    async def play(state, view, runners):
        state.refresh()
        await until(lambda: view.of("result"))
        assert state.change(lambda s: s.with_share(0, 2.0)) is False
        assert state.settings == START
        assert state.result is not None

    view = played(play)
    assert "from 0 to 1" in view.of("refusal")[0]
    assert len(view.of("result")) == 1


def test_a_change_to_what_is_set_already_costs_nothing():
    async def play(state, view, runners):
        assert state.change(lambda s: s.with_utility("hamming")) is True
        assert view.busy is None
        assert runners.calls == []

    played(play)


def test_settings_without_a_design_say_why_and_keep_the_frontier():
    async def play(state, view, runners):
        state.refresh()
        await until(lambda: view.of("announced"))
        state.change(lambda s: s.with_required("pml", False))
        await until(lambda: view.of("problem"))
        assert state.result is None
        state.change(lambda s: s.with_required("pml", True))
        await until(lambda: len(view.of("announced")) == 2)

    view = played(play)
    assert "at least one notion" in view.of("problem")[0]
    assert all(len(curves) == 3 for curves, _, _ in view.of("frontier"))


def test_settings_without_a_frontier_say_why():
    async def play(state, view, runners):
        state.refresh()
        await until(lambda: view.of("frontier"))

    view = played(play, START.with_utility("absolute"))
    curves, ends, status = view.of("frontier")[-1]
    assert (curves, ends) == ((), None)
    assert "numeric labels" in status


def test_a_notion_that_no_method_designs_for_says_why():
    settings = START.with_new_notion("maximalleakage").with_utility("total-variation")

    async def play(state, view, runners):
        state.refresh()
        await until(lambda: complete(view))

    view = played(play, settings)
    *others, last = view.of("frontier")[-1][0]
    assert "no method applies" in last.problem
    assert last.points == ()
    assert all(len(curve.points) == 19 for curve in others)


@pytest.mark.parametrize(
    ("failure", "kind", "fragment"),
    [
        (ZeroDivisionError("oh"), "problem", "internal error: ZeroDivisionError"),
        (SolverError("ended from outside"), "refusal", "ended from outside"),
    ],
)
def test_work_that_fails_is_reported(failure, kind, fragment, caplog):
    async def play(state, view, runners):
        async def background(work, *arguments):
            raise failure

        runners.instead["background"] = background
        state.refresh()
        await until(lambda: view.of(kind))

    view = played(play)
    assert fragment in view.of(kind)[0]
    assert ("failed" in caplog.text) == (kind == "problem")


def test_a_server_that_stops_shows_nothing_more():
    async def play(state, view, runners):
        async def nothing(work, *arguments):
            return None

        runners.instead = {"foreground": nothing, "background": nothing}
        state.refresh()
        await until(lambda: is_idle())

    view = played(play)
    assert not view.of("result")
    assert not view.of("problem")


def test_a_visitor_who_leaves_stops_the_work():
    async def play(state, view, runners):
        runners.gate.clear()
        state.refresh()
        await until(lambda: view.of("result"))
        state.close()
        calls = len(runners.calls)
        runners.gate.set()
        await until(lambda: is_idle())
        assert len(runners.calls) == calls

    played(play)


def test_alternatives_of_other_settings_go_with_the_next_result():
    async def play(state, view, runners):
        state.refresh()
        await until(lambda: view.of("announced"))
        runners.gate.clear()
        # They hold for another level of what is designed, and for nothing else.
        state.change(lambda s: s.with_level("pml", 0.25))
        await until(lambda: len(view.of("result")) == 2)
        assert [r.notion.name for r in view.of("alternatives")[-1]] == ["lip", "ldp"]
        state.change(lambda s: s.with_level("lip", 0.25))
        await until(lambda: len(view.of("result")) == 3)
        assert [r.notion.name for r in view.of("alternatives")[-1]] == ["ldp"]
        state.change(lambda s: s.with_utility("mutual-information"))
        await until(lambda: len(view.of("result")) == 4)
        assert view.of("alternatives")[-1] == []
        runners.gate.set()
        await until(lambda: len(view.of("alternatives")[-1]) == 2)

    played(play)


def test_a_frontier_that_failed_is_computed_at_the_next_change():
    async def play(state, view, runners):
        async def background(work, *arguments):
            raise SolverError("ended from outside")

        runners.instead["background"] = background
        state.refresh()
        await until(lambda: view.of("frontier"))
        assert view.of("frontier")[-1][2] == "not computed"
        del runners.instead["background"]
        state.change(lambda s: s.with_level("pml", 0.25))
        await until(lambda: view.of("frontier")[-1][2] == "")
        assert len(view.of("frontier")[-1][0]) == 3

    played(play)


def test_a_result_that_fails_leaves_no_mark_and_newer_settings_have_one(caplog):
    async def play(state, view, runners):
        waiting = []

        async def foreground(work, *arguments):
            waiting.append(arguments)
            await runners.gate.wait()
            raise ZeroDivisionError("oh")

        runners.instead["foreground"] = foreground
        state.refresh()
        await until(lambda: view.of("problem"))
        assert view.busy is False
        runners.gate.clear()
        state.refresh()
        await until(lambda: len(waiting) == 2)
        state.change(lambda s: s.with_share(0, 0.2))
        del runners.instead["foreground"]
        runners.gate.set()
        await until(lambda: view.of("result"))

    view = played(play)
    assert view.of("result")[-1].settings.weights[0] == 0.2
    assert caplog.text.count("ZeroDivisionError: oh") == 1


def test_two_page_states_share_nothing():
    async def scene():
        views = [View(), View()]
        runners = Runners()
        for view, share in zip(views, (0.1, 0.8), strict=True):
            view.state = PageState(START, view, runners.foreground, runners.background)
            view.state.change(lambda s, share=share: s.with_share(0, share))
        await until(lambda: all(view.of("announced") for view in views))
        for view in views:
            view.state.close()
        return views

    for view, share in zip(asyncio.run(scene()), (0.1, 0.8), strict=True):
        assert view.of("announced")[0].settings.weights[0] == share


# Processes of the background

WORKERS = """
import multiprocessing, os, signal
from concurrent.futures import ProcessPoolExecutor
from mechdesign.explorer.server import at_low_priority

if __name__ == "__main__":
    pool = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))
    before = os.nice(0)
    print(before)
    print(at_low_priority(os.nice, 0) - before)
    for _ in range(2):
        print(pool.submit(at_low_priority, os.nice, 0).result() - before, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(os.name != "posix", reason="ended by a signal")
def test_other_processes_give_way_and_end_with_a_server_that_is_killed(tmp_path):
    (tmp_path / "workers.py").write_text(WORKERS, encoding="utf-8")
    # The pipe is closed when the last process that holds it is gone.
    done = subprocess.run(
        [sys.executable, str(tmp_path / "workers.py")],
        stdout=subprocess.PIPE,
        timeout=300,
    )
    before, *own_and_others = map(int, done.stdout.split())
    lower = min(10, 19 - before)
    assert own_and_others == [0, lower, lower]
    assert done.returncode == -9


# The server


@for_each(
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
@for_each("kind", ["http", "websocket"])
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
    asyncio.run(server.OnlyLocal(app)(scope, None, send))
    assert bool(inside) is good
    if good:
        found = dict(sent[0]["headers"])
        assert b"connect-src 'self'" in found[b"content-security-policy"]
        assert b"http" not in found[b"content-security-policy"]
    elif kind == "http":
        assert sent[0]["status"] == 403
    else:
        assert sent == [{"type": "websocket.close", "code": 1008}]


@for_each(
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
    assert server.is_local(headers | {b"sec-fetch-dest": dest.encode()}) is good


def test_other_events_pass():
    scopes = []

    async def app(scope, receive, send):
        scopes.append(scope["type"])

    asyncio.run(server.OnlyLocal(app)({"type": "lifespan"}, None, None))
    assert scopes == ["lifespan"]


@pytest.fixture
def taken():
    with socket.socket() as held:
        held.bind((server.HOST, 0))
        held.listen()
        yield held.getsockname()[1]


def test_a_port_that_is_taken_is_refused_or_passed_over(taken, monkeypatch):
    refused(lambda: server.find_port(taken), "--port", str(taken))
    refused(lambda: server.find_port(70_000), "--port")
    assert server.find_port(0) > 0
    monkeypatch.setattr(server, "PORT", taken)
    assert taken < server.find_port(None) < taken + 30
    monkeypatch.setattr(server, "TRIES", 1)
    refused(lambda: server.find_port(None), str(taken), "--port")


def test_without_nicegui_the_command_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "nicegui", None)
    assert main(["explore"]) == 3
    captured = capsys.readouterr()
    assert "pip install 'mechdesign[web]'" in captured.err
    assert captured.out == ""


@for_each(
    ("arguments", "text"),
    [
        (["--prior", "0.5,0.6"], "sum 1.1"),
        (["titanic"], "--column"),
        (["titanic", "--column", "deck"], "deck"),
        (["--prior", ",".join(["0.0125"] * 80)], "at most 50"),
        (["--column", "deck"], "deck"),
    ],
)
def test_a_prior_that_cannot_be_used_is_refused_before_anything_is_served(arguments, text, capsys):
    assert main(["explore", "--no-browser", *arguments]) == 2
    captured = capsys.readouterr()
    assert text in captured.err
    assert captured.out == ""


def test_the_port_of_the_command_is_checked(taken, capsys):
    assert main(["explore", "--no-browser", "--port", str(taken)]) == 2
    assert f"{taken}, which is taken" in capsys.readouterr().err


def test_connections_that_send_nothing_or_half_of_something_end(monkeypatch):
    """Slow answers, and bodies that go on, are waited for. Time passes where the test says so."""
    uvicorn, found = pytest.importorskip("uvicorn"), {}
    monkeypatch.setattr("nicegui.ui.run", lambda *_, **options: found.update(options))
    server._run_until_interrupted(lambda: None, 0, False)
    head, body = b"GET / HTTP/1.1\r\nHost: localhost\r\n", b"Content-Length: 5\r\n\r\n"
    silent = [b"", head, b"G", head + b"X", head + body + b"a"]
    good = [head + b"Connection: close\r\n\r\n", head + b"Connection: close\r\n" + body]

    async def until(is_so):
        while not is_so():
            await asyncio.sleep(0.005)

    async def check():
        loop, due, answering = asyncio.get_running_loop(), {}, asyncio.Event()
        later = loop.call_later

        def wait(seconds, call, *arguments):
            if getattr(call, "__name__", "") != "look":
                return later(seconds, call, *arguments)
            assert seconds == server._SECONDS
            due[call.__self__] = arguments
            return None

        def pass_time():
            for one, arguments in list(due.items()):
                del due[one]
                one.look(*arguments)

        async def app(scope, receive, send):
            left = 5 if b"content-length" in dict(scope["headers"]) else 0
            while left and (message := await receive())["type"] == "http.request":
                left -= len(message["body"])
            if not left:
                await answering.wait()
                await send({"type": "http.response.start", "status": 200, "headers": []})
                await send({"type": "http.response.body"})

        monkeypatch.setattr(loop, "call_later", wait)
        settings = uvicorn.Config(app, http=found["http"], log_level="critical", lifespan="off")
        running = uvicorn.Server(settings)
        serving = asyncio.ensure_future(running.serve([held]))
        pairs = [await asyncio.open_connection(*held.getsockname()) for _ in silent + good]
        for (_, writer), sent in zip(pairs, silent + good, strict=True):
            writer.write(sent)
        await until(lambda: sum(one.parts for one in due) == len(pairs) - 1)
        for k in range(1, 6):
            pass_time()
            pairs[-1][1].write(b"a")
            await until(lambda k=k: max((one.parts for one in due), default=9) > k)
        answers = [await reader.read() for reader, _ in pairs[: len(silent)]]
        assert answers == [b""] * len(silent)
        assert len(due) == len(good)
        answering.set()
        assert [(await reader.read())[9:12] for reader, _ in pairs[-2:]] == [b"200"] * 2
        for _, writer in pairs:
            writer.close()
        running.should_exit = True
        await serving

    with socket.socket() as held:
        held.bind((server.HOST, 0))
        held.listen()
        asyncio.run(check())
