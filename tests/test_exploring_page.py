"""The page with a simulated visitor: every control changes the settings, every refusal is shown."""

from __future__ import annotations

import asyncio
import json
import logging

import numpy as np
import pytest

import mechdesign as md
from mechdesign.explorer.settings import Column, Settings
from mechdesign.storage import load_kernel

pytest.importorskip("nicegui", reason="the page needs mechdesign[explore]")

from nicegui import run, ui
from nicegui.testing.user_simulation import user_simulation

from mechdesign.explorer import loading
from mechdesign.explorer import page as page_module
from mechdesign.explorer.bar import Bar
from mechdesign.explorer.page import Page

# The server leaves these to the page, which says the same itself.
pytestmark = pytest.mark.filterwarnings("ignore::mechdesign.errors.MechdesignWarning")

TITANIC = Settings.of_prior(md.Prior.from_csv("titanic", "class"), Column("titanic", "class"))


async def until(condition):
    """Wait for a state; the limit only keeps a test from waiting for ever."""
    async with asyncio.timeout(300):
        while not condition():
            await asyncio.sleep(0.01)


class Visit:
    """One visitor's page, and what can be done to it."""

    def __init__(self, user, pages):
        self.user, self.pages = user, pages

    @property
    def page(self):
        return self.pages[-1]

    @property
    def settings(self):
        return self.page.desk.settings

    def control(self, name, kind=ui.element):
        """The control of an accessible name, or with this text on it."""
        found = [
            element
            for element in self.user.client.elements.values()
            if isinstance(element, kind)
            and name
            in (
                element.props.get("aria-label"),
                element.props.get("label"),
                getattr(element, "text", None),
            )
        ]
        assert len(found) == 1, f"{len(found)} controls are called {name!r}"
        return found[0]

    def tell(self, element, event, argument=None):
        """What the browser would send."""
        with self.user.client:
            for listener in list(element._event_listeners.values()):
                if listener.type == event and listener.handler is not None:
                    element._handle_event({"listener_id": listener.id, "args": argument})

    def write(self, name, text):
        field = self.control(name, ui.input)
        with self.user.client:
            field.value = text
        self.tell(field, "change", text)
        return field

    def press(self, name):
        self.tell(self.control(name, ui.button), "click")

    def choose(self, name, option):
        select = self.control(name, ui.select)
        with self.user.client:
            select.set_value(option)

    def drag(self, name, *values):
        bar = self.control(name, Bar)
        for value in values:
            self.tell(bar, "move", value)
        self.tell(bar, "release", values[-1])

    async def calm(self):
        """Wait until the answer to the settings is there, and the frontier."""
        desk = self.page.desk
        await until(lambda: not desk._tasks)

    @property
    def refusal(self):
        return self.page._refusal.text


@pytest.fixture
def visiting(tmp_path, monkeypatch, caplog):
    """Plays a scene on the page; work for other processes is done in threads."""

    async def later(work, *arguments):
        return await run.io_bound(work, *arguments)

    monkeypatch.setattr(page_module, "_later", later)

    def play(scene, settings=TITANIC):
        pages = []

        def root():
            pages.append(Page(settings, tmp_path))

        async def whole():
            async with user_simulation(root=root) as user:
                await user.open("/")
                visit = Visit(user, pages)
                await visit.calm()
                # A server that ends in the middle of an update waits for it in vain, so a scene
                # that fails fails after the end.
                (failure,) = await asyncio.gather(scene(visit), return_exceptions=True)
                await visit.calm()
                await asyncio.sleep(0.1)
            if failure is not None:
                raise failure

        asyncio.run(whole())
        errors = [record for record in caplog.records if record.levelno >= logging.ERROR]
        assert not errors, errors

    return play


def test_a_visitor_sees_the_design_of_the_library(visiting):
    async def scene(visit):
        page = visit.page
        assert "0.60902" in page._tiles.content
        assert "0.6629" in page._kernel.content
        assert "D-PML-ML" in page._implied.content
        assert "ID-Cor-3" in page._unknown.content
        assert "0.609020032049" in page._certificate.content
        assert "LIP(0.5)" in page._rivals.content
        assert "from_csv(&#x27;titanic&#x27;" in page._python.content
        assert "pml:0.5" in page._shell.content
        assert "proved optimal" in page._spoken.text
        assert page._busy.content == ""
        assert len(page._frontier.options["series"]) == 4
        direct = md.design(TITANIC.prior(), md.utility.Hamming(), md.PML(0.5))
        assert page.desk.answer.found.certificate.fingerprint == direct.certificate.fingerprint

    visiting(scene)


def test_dragging_a_bar_to_its_end_and_back_leaves_everything_as_it_was(visiting):
    async def scene(visit):
        before = visit.settings.shares
        visit.drag("Mass of crew", 0.45, 0.5, 0.2, 0.0, 0.3, before[3])
        np.testing.assert_allclose(visit.settings.shares, before, atol=1e-8)
        assert visit.settings.source is None

        # The scale follows when the bar is let go, and all bars share it.
        def tops():
            return {row.bar.props["max"] for row in visit.page._bars.rows}

        assert tops() == {0.5}
        visit.drag("Mass of crew", 0.5)
        assert tops() == {1.0}
        visit.drag("Mass of crew", 0.4)
        assert tops() == {0.5}
        assert visit.control("Mass of crew as a number").value == "0.4"
        # Another bar begins a new drag from what there is now.
        first = visit.settings.shares[0]
        visit.drag("Mass of 1st", 0.4)
        assert visit.settings.shares[0] == pytest.approx(0.4)
        assert visit.settings.shares[3] == pytest.approx(0.4 * 0.6 / (1 - first))

    visiting(scene)


def test_masses_are_typed(visiting):
    async def scene(visit):
        visit.write("Mass of 1st as a number", "1/2")
        assert visit.settings.shares[0] == pytest.approx(0.5)
        before = visit.settings
        for text, word in (
            ("", "empty text"),
            ("much", "'much'"),
            ("2", "from 0 to 1"),
            ("-1", "from 0 to 1"),
            ("nan", "from 0 to 1"),
        ):
            field = visit.write("Mass of 1st as a number", text)
            assert word in visit.refusal
            assert field.props["error"] is True
            assert field.value == text  # what was typed is not lost
            assert visit.settings is before
        field = visit.write("Mass of 1st as a number", "25%")
        assert visit.settings.shares[0] == pytest.approx(0.25)
        assert visit.refusal == ""
        assert not field.props["error"]
        visit.write("Mass of 2nd as a number", "0")
        await visit.calm()
        assert "'2nd'" in visit.page._notes.text

    visiting(scene)


def test_symbols_are_named_added_and_removed(visiting):
    async def scene(visit):
        visit.write("Name of symbol 4", "staff & <crew>")
        await visit.calm()
        assert visit.settings.names[3] == "staff & <crew>"
        assert "staff &amp; &lt;crew&gt;" in visit.page._kernel.content
        visit.write("Name of symbol 4", "")
        assert "a name" in visit.refusal
        visit.write("Name of symbol 4", "1st")
        assert "more than once" in visit.refusal
        visit.press("Add symbol")
        assert len(visit.page._bars.rows) == 5
        visit.press("Remove new 5")
        visit.press("Remove 1st")
        assert visit.settings.names == ("2nd", "3rd", "staff & <crew>")
        visit.press("Remove 2nd")
        visit.press("Remove 3rd")
        visit.press("Remove staff & <crew>")
        assert "at least one symbol" in visit.refusal
        await visit.calm()
        assert visit.page.desk.answer.found.mechanism.shape == (1, 1)
        assert visit.control("Mass of staff & <crew>", Bar).props["still"] is True

    visiting(scene)


def test_priors_by_rule_and_from_tables(visiting):
    async def scene(visit):
        visit.press("Uniform")
        assert visit.settings.prior().is_uniform
        visit.press("Zipf")
        assert visit.settings.shares[0] == pytest.approx(0.48, abs=1e-6)
        assert visit.control("Column of a table", ui.select).value is None
        visit.choose("Column of a table", "ucb_admissions: department")
        await until(lambda: visit.settings.source is not None)
        assert visit.settings.prior() == md.Prior.from_csv("ucb_admissions", "department")
        await visit.calm()
        assert "ucb_admissions --column department" in visit.page._shell.content

    visiting(scene)


def test_notions_levels_and_utilities_are_chosen(visiting):
    async def scene(visit):
        visit.choose("Add a notion to compare", "alip")
        visit.write("Level ε_l of ALIP in nats", "2")
        visit.drag("Level ε_u of ALIP", 0.0)
        assert visit.settings.demand("alip").levels == (2.0, 1.0)
        tick = visit.control("ALIP: asymmetric local information privacy", ui.checkbox)
        with visit.user.client:
            tick.value = True
        visit.press("Remove PML")
        assert visit.settings.notions() == [md.ALIP(2, 1)]
        visit.choose("Utility", "mutual-information")
        await visit.calm()
        assert visit.page.desk.answer.found.notions == (md.ALIP(2, 1),)
        assert "md.ALIP(2.0, 1.0)" in visit.page._python.content
        visit.write("Level ε_u of ALIP in nats", "∞")
        visit.write("Level ε_l of ALIP in nats", "0")
        await visit.calm()
        bar = visit.control("Level ε_u of ALIP", Bar)
        assert (bar.props["value"], bar.props["beyond"]) == (1.0, "infinite nats")
        assert visit.page.desk.answer.found.notions[0].levels == (0.0, float("inf"))
        for text in ("", "-1", "nan", "x"):
            visit.write("Level ε_l of ALIP in nats", text)
            assert "level of ALIP" in visit.refusal
        assert visit.settings.demand("alip").levels == (0.0, float("inf"))

    visiting(scene)


def test_without_a_design_its_parts_are_hidden_and_come_back(visiting):
    async def scene(visit):
        visit.choose("Utility", "absolute")
        await visit.calm()
        assert "numeric labels" in visit.page._problem.text
        assert "nothing" in visit.page._results.classes
        assert visit.page.desk.answer is None
        visit.press("Mechanism as JSON")  # nothing to save, and no failure
        for place in range(4):
            visit.write(f"Name of symbol {place + 1}", str(place))
        await visit.calm()
        assert visit.page._problem.text == ""
        assert "nothing" not in visit.page._results.classes
        assert visit.page.desk.answer.is_final

    visiting(scene)


def test_what_is_taken_away_is_what_is_shown(visiting, tmp_path):
    async def scene(visit):
        visit.drag("Level ε of PML", -0.7)
        await visit.calm()
        found = visit.page.desk.answer.found
        visit.press("Mechanism as JSON")
        saved = await visit.user.download.next()
        (tmp_path / "m.json").write_bytes(saved.content)
        assert md.load(tmp_path / "m.json").mechanism == found.mechanism
        visit.press("Kernel as CSV")
        table = await visit.user.download.next()
        (tmp_path / "m.csv").write_bytes(table.content)
        read = load_kernel(tmp_path / "m.csv")
        np.testing.assert_array_equal(read.kernel, found.mechanism.kernel)
        assert read.inputs == found.mechanism.inputs

    visiting(scene)


class Sent:
    """A file as the browser sends it."""

    def __init__(self, name, text):
        self.name, self.text = name, text

    async def save(self, path):
        path.write_text(self.text, encoding="utf-8")


def test_a_visitor_loads_a_file(visiting, tmp_path):
    table = "colour,number\nred,3\nblue,1\nred,2\n,4\n"

    async def send(visit, name, text):
        with visit.user.client:
            await visit.page._sources._uploaded(type("Event", (), {"file": Sent(name, text)}))
        await visit.calm()

    async def scene(visit):
        await send(visit, "../own.csv", table)
        assert "1 of 4 rows without a value" in visit.refusal
        assert visit.page._sources._options.visible
        assert "of own.csv: expected" in visit.refusal
        # The choice names what the prior is from still; a tick reads again what was refused.
        assert visit.control("Column of a table", ui.select).value == "titanic: class"
        with visit.user.client:
            visit.page._sources._drop.value = True
        await until(lambda: visit.settings.source == Column("own.csv", "colour", None, "drop"))
        assert visit.settings.prior() == md.Prior.from_counts({"blue": 1, "red": 2})
        visit.choose("Counts are in", "number")
        await until(lambda: visit.settings.source.weights is not None)
        assert visit.settings.prior() == md.Prior.from_counts({"blue": 1, "red": 5})
        await visit.calm()
        assert "own.csv --column colour --weights number --missing drop" in (
            visit.page._shell.content
        )
        await send(visit, "bad.csv", "")
        assert "table bad.csv: expected a header line" in visit.refusal
        assert visit.settings.source.table == "own.csv"
        assert len(list(tmp_path.iterdir())) == 1
        visit.choose("Column of a table", "own.csv: number")  # the file before it is still there
        await until(lambda: visit.settings.source.column == "number")
        await send(visit, "new.csv", "pet\ncat\n")
        assert visit.settings.names == ("cat",)
        assert len(list(tmp_path.iterdir())) == 1

    visiting(scene)


def test_what_was_chosen_last_counts_and_large_files_are_read_elsewhere(visiting, monkeypatch):
    monkeypatch.setattr(loading, "LARGE_FILE", 3)

    async def scene(visit):
        sources, gates, calls, done = visit.page._sources, [], [], []

        async def later(work, *arguments):
            gates.append(asyncio.Event())
            calls.append(arguments[0].column)
            await gates[-1].wait()
            try:
                return work(*arguments)
            finally:
                done.append(arguments[0].column)

        sources._later = later
        with visit.user.client:
            uploading = asyncio.ensure_future(
                sources._uploaded(type("Event", (), {"file": Sent("own.csv", "a,b\n1,x\n2,y\n")}))
            )
            await until(lambda: calls == ["a"])
        assert sources._state.text == "reading own.csv …"
        visit.choose("Column of a table", "own.csv: b")
        await until(lambda: len(calls) == 2)
        assert calls == ["a", "b"]
        gates[1].set()
        await until(lambda: visit.settings.names == ("x", "y"))
        gates[0].set()  # chosen before, and read after
        await uploading
        assert visit.settings.names == ("x", "y")
        assert sources._state.text == ""
        # A prior made by hand while a file is read stays.
        visit.choose("Column of a table", "own.csv: a")
        await until(lambda: len(calls) == 3)
        visit.press("Zipf")
        gates[2].set()
        await until(lambda: done == ["b", "a", "a"] and sources._state.text == "")
        await visit.calm()
        assert visit.settings.names == ("x", "y")
        assert visit.control("Column of a table", ui.select).value is None

    visiting(scene)


def test_visitors_share_nothing_and_leave_nothing(visiting, tmp_path):
    async def scene(visit):
        first = visit.page
        visit.drag("Level ε of PML", -1.0)
        await visit.calm()
        with visit.user.client:
            await first._sources._uploaded(
                type(
                    "Event", (), {"file": Sent("many.csv", "id\n" + "\n".join(map(str, range(60))))}
                )
            )
        assert len(list(tmp_path.iterdir())) == 1
        client = visit.user.client
        await visit.user.open("/")
        await visit.calm()
        assert visit.page is not first
        assert visit.settings == TITANIC
        assert first.desk.settings.demand("pml").levels == (0.1,)
        client.delete()
        assert not list(tmp_path.iterdir())

    visiting(scene)


def test_thirty_symbols_with_long_names(visiting):
    names = [f"a very long name of the symbol with the number {i}, and more" for i in range(30)]

    async def scene(visit):
        visit.press("Zipf")
        await visit.calm()
        assert len(visit.page._bars.rows) == 30
        assert names[0] in visit.page._kernel.content
        assert "prior.json" in visit.page._shell.content
        json.dumps(visit.page._lifts.options, allow_nan=False)

    visiting(scene, Settings.of_prior(md.Prior.uniform(names)))
