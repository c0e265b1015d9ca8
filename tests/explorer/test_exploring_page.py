"""The page with a simulated visitor: every control changes the settings, every refusal is shown."""

from __future__ import annotations

import asyncio
import json
import logging
import re

import numpy as np
import pytest
from checks import slow_but
from guessing import guessing

import mechdesign as md
from mechdesign.explorer.settings import Column
from mechdesign.kernel_files import load_kernel

pytest.importorskip("nicegui", reason="the page needs mechdesign[web]")

from nicegui import run, ui
from nicegui.testing import UserInteraction
from nicegui.testing.user_simulation import user_simulation

from mechdesign.explorer import controls, markup
from mechdesign.explorer.controls import Slider
from mechdesign.explorer.page import Page
from mechdesign.explorer.questions import Asked

# The server leaves these to the page, which says the same itself.
pytestmark = pytest.mark.filterwarnings("ignore::mechdesign.errors.MechdesignWarning")

TITANIC = guessing(md.Prior.from_csv("titanic", "class"), Column("titanic", "class"))


async def until(condition):
    """Wait for a state; the limit only keeps a test from waiting for ever."""
    async with asyncio.timeout(300):
        while not condition():
            await asyncio.sleep(0.01)


class Visit:
    """One visitor's page: what can be done to it, and what it shows."""

    def __init__(self, user, pages):
        self.user, self.pages = user, pages

    @property
    def state(self):
        return self.pages[-1].state

    @property
    def settings(self):
        return self.state.settings

    def elements(self, kind=ui.element, *, classes="", **props):
        """The elements of a kind, with these classes and properties."""
        return [
            element
            for element in self.user.client.elements.values()
            if isinstance(element, kind)
            and set(classes.split()) <= set(element.classes)
            and props.items() <= dict(element.props).items()
        ]

    def control(self, name, kind=ui.element):
        """The control of an accessible name, or with this text on it."""
        found = [
            element
            for element in self.elements(kind)
            if name
            in (
                element.props.get("aria-label"),
                element.props.get("label"),
                getattr(element, "text", None),
            )
        ]
        assert len(found) == 1, f"{len(found)} controls are called {name!r}"
        return found[0]

    def shown(self, section):
        """Text and HTML of the section whose heading has an anchor."""
        (box,) = self.elements(**{"aria-labelledby": section})
        inside = box.descendants()
        texts = (getattr(e, "content", "") or getattr(e, "text", "") for e in inside)
        return "\n".join(filter(None, texts))

    def chart(self, section):
        """Options of the chart of a section."""
        (box,) = self.elements(**{"aria-labelledby": section})
        (found,) = (e for e in box.descendants() if isinstance(e, ui.echart))
        return found.options

    def text(self, classes):
        """What the one element with these classes says."""
        (found,) = self.elements(classes=classes)
        return found.content if isinstance(found, ui.html) else found.text

    @property
    def refusal(self):
        """Why the last change was refused."""
        return self.text("problem refusal")

    @property
    def problem(self):
        """Why there is no design."""
        (found,) = (e for e in self.elements(classes="problem") if "refusal" not in e.classes)
        return found.text

    def tell(self, element, event, argument=None):
        """What the browser would send."""
        UserInteraction(self.user, {element}, None).trigger(event, argument)

    def write(self, name, text):
        field = self.control(name, ui.input)
        with self.user.client:
            field.value = text
        self.tell(field, "change", text)
        return field

    def press(self, name):
        UserInteraction(self.user, {self.control(name, ui.button)}, None).click()

    def choose(self, name, option):
        select = self.control(name, ui.select)
        with self.user.client:
            select.set_value(option)

    def tick(self, name):
        with self.user.client:
            self.control(name, ui.checkbox).value = True

    def drag(self, name, *values):
        slider = self.control(name, Slider)
        for value in values:
            self.tell(slider, "move", value)
        self.tell(slider, "release", values[-1])

    async def send(self, name, text, place=0):
        """Load a file: for the prior, or in another place of the page."""
        upload = self.elements(ui.upload)[place]
        file = ui.upload.SmallFileUpload(name, "text/csv", text.encode())
        with self.user.client:
            await upload.handle_uploads([file])

    async def settled(self):
        """Wait until no work of the page state is under way."""

        def is_idle():
            return not [task for task in asyncio.all_tasks() if task.get_name() == "explorer"]

        await until(is_idle)


class Background:
    """Work for other processes, done in threads, or held back one by one."""

    def __init__(self):
        self.held = None  # of each piece of work held back: its argument and its gate
        self.done = []

    async def run(self, work, *arguments):
        if self.held is None:
            return await run.io_bound(work, *arguments)
        gate = asyncio.Event()
        self.held.append((arguments[0], gate))
        await gate.wait()
        self.done.append(arguments[0])
        return work(*arguments)


@pytest.fixture
def background():
    return Background()


@pytest.fixture
def visiting(tmp_path, background, caplog):
    """Plays a scene on the page."""

    def play(scene, settings=TITANIC, address="/"):
        pages = []

        def root():
            query = ui.context.client.request.query_params
            pages.append(Page(settings, tmp_path, run.io_bound, background.run, query))

        async def whole():
            async with user_simulation(root=root) as user:
                await user.open(address)
                visit = Visit(user, pages)
                await visit.settled()
                # A server that ends in the middle of an update waits for it in vain, so a scene
                # that fails fails after the end.
                (failure,) = await asyncio.gather(scene(visit), return_exceptions=True)
                await visit.settled()
                await asyncio.sleep(0.1)
            if failure is not None:
                raise failure

        asyncio.run(whole())
        errors = [record for record in caplog.records if record.levelno >= logging.ERROR]
        assert not errors, errors

    return play


def test_a_visitor_sees_the_design_of_the_library(visiting):
    async def scene(visit):
        assert "0.60902" in visit.shown("results")
        assert "0.6629" in visit.shown("results")
        assert "D-PML-ML" in visit.shown("implied")
        assert "ID-Cor-3" in visit.shown("implied")
        assert "0.609020032049" in visit.shown("certificate")
        assert "LIP(0.5)" in visit.shown("frontier")
        assert "maximal leakage" in visit.shown("leaks")
        assert "from_csv(&#x27;titanic&#x27;" in visit.shown("export")
        assert "pml:0.5" in visit.shown("export")
        assert "proved optimal" in visit.text("unseen")
        assert visit.text("busy") == ""
        assert len(visit.chart("frontier")["series"]) == 4
        direct = md.design(TITANIC.prior(), md.utility.Hamming(), md.PML(0.5))
        assert visit.state.result.design.certificate.fingerprint == direct.certificate.fingerprint

    visiting(scene)


@pytest.mark.slow
def test_dragging_a_slider_to_its_end_and_back_leaves_everything_as_it_was(visiting):
    async def scene(visit):
        before = visit.settings.shares
        visit.drag("Mass of crew", 0.45, 0.5, 0.2, 0.0, 0.3, before[3])
        np.testing.assert_allclose(visit.settings.shares, before, atol=1e-8)
        assert visit.settings.source is None

        # The scale follows when a slider is let go, and all sliders of masses share it.
        def tops():
            return {slider.props["max"] for slider in visit.elements(Slider, unit="share")}

        assert tops() == {0.5}
        visit.drag("Mass of crew", 0.5)
        assert tops() == {1.0}
        visit.drag("Mass of crew", 0.4)
        assert tops() == {0.5}
        assert visit.control("Mass of crew as a number").value == "0.4"
        # Another slider begins a new drag from what there is now.
        first = visit.settings.shares[0]
        visit.drag("Mass of 1st", 0.4)
        assert visit.settings.shares[0] == pytest.approx(0.4)
        assert visit.settings.shares[3] == pytest.approx(0.4 * 0.6 / (1 - first))

    visiting(scene)


@pytest.mark.slow
def test_masses_are_typed(visiting):
    async def scene(visit):
        visit.write("Mass of 1st as a number", "1/2")
        assert visit.settings.shares[0] == pytest.approx(0.5)
        before = visit.settings
        for text, fragment in (
            ("", "empty text"),
            ("much", "'much'"),
            ("2", "from 0 to 1"),
            ("-1", "from 0 to 1"),
            ("nan", "from 0 to 1"),
        ):
            field = visit.write("Mass of 1st as a number", text)
            assert fragment in visit.refusal
            assert field.props["error"] is True
            assert field.value == text  # what was typed is not lost
            assert visit.settings is before
        field = visit.write("Mass of 1st as a number", "25%")
        assert visit.settings.shares[0] == pytest.approx(0.25)
        assert visit.refusal == ""
        assert not field.props["error"]
        visit.write("Mass of 2nd as a number", "0")
        await visit.settled()
        assert "'2nd'" in visit.text("notes")

    visiting(scene)


@pytest.mark.slow
def test_symbols_are_named_added_and_removed(visiting):
    async def scene(visit):
        visit.write("Name of symbol 4", "staff & <crew>")
        await visit.settled()
        assert visit.settings.names[3] == "staff & <crew>"
        assert "staff &amp; &lt;crew&gt;" in visit.shown("results")
        visit.write("Name of symbol 4", "")
        assert "a name" in visit.refusal
        visit.write("Name of symbol 4", "1st")
        assert "more than once" in visit.refusal
        visit.press("Add symbol")
        assert len(visit.elements(Slider, unit="share")) == 5
        visit.press("Remove new 5")
        visit.press("Remove 1st")
        assert visit.settings.names == ("2nd", "3rd", "staff & <crew>")
        visit.press("Remove 2nd")
        visit.press("Remove 3rd")
        visit.press("Remove staff & <crew>")
        assert "at least one symbol" in visit.refusal
        await visit.settled()
        assert visit.state.result.design.mechanism.shape == (1, 1)
        assert visit.control("Mass of staff & <crew>", Slider).props["fixed"] is True

    visiting(scene)


@pytest.mark.slow
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
        await visit.settled()
        assert "ucb_admissions --column department" in visit.shown("export")

    visiting(scene)


def test_notions_levels_and_utilities_are_chosen(visiting):
    async def scene(visit):
        visit.choose("Add a notion to compare", "alip")
        visit.write("Level ε_l of ALIP in nats", "2")
        visit.drag("Level ε_u of ALIP", 0.0)
        assert visit.settings.notion("alip").levels == (2.0, 1.0)
        visit.tick("ALIP: asymmetric local information privacy")
        visit.press("Remove PML")
        assert visit.settings.required_notions() == [md.ALIP(2, 1)]
        visit.choose("Utility", "mutual-information")
        await visit.settled()
        assert visit.state.result.design.notions == (md.ALIP(2, 1),)
        assert "md.ALIP(2.0, 1.0)" in visit.shown("export")
        visit.write("Level ε_u of ALIP in nats", "∞")
        visit.write("Level ε_l of ALIP in nats", "0")
        await visit.settled()
        slider = visit.control("Level ε_u of ALIP", Slider)
        assert (slider.props["value"], slider.props["beyond"]) == (1.0, "infinite nats")
        assert visit.state.result.design.notions[0].levels == (0.0, float("inf"))
        for text in ("", "-1", "nan", "x"):
            visit.write("Level ε_l of ALIP in nats", text)
            assert "ALIP level epsilon_l" in visit.refusal
        assert visit.settings.notion("alip").levels == (0.0, float("inf"))

    visiting(scene)


@pytest.mark.slow
def test_without_a_design_its_parts_are_hidden_and_come_back(visiting):
    async def scene(visit):
        visit.choose("Utility", "absolute")
        await visit.settled()
        assert "numeric labels" in visit.problem
        assert "nothing" in visit.elements(classes="results")[0].classes
        assert visit.state.result is None
        visit.press("Mechanism as JSON")  # nothing to save, and no failure
        for place in range(4):
            visit.write(f"Name of symbol {place + 1}", str(place))
        await visit.settled()
        assert visit.problem == ""
        assert "nothing" not in visit.elements(classes="results")[0].classes
        assert visit.state.result.design.certificate.is_optimal

    visiting(scene)


@pytest.mark.slow
def test_what_is_taken_away_is_what_is_shown(visiting, tmp_path):
    async def scene(visit):
        visit.drag("Level ε of PML", -0.7)
        await visit.settled()
        found = visit.state.result.design
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


@pytest.mark.slow
def test_a_visitor_loads_a_file(visiting, tmp_path):
    table = "colour,number\nred,3\nblue,1\nred,2\n,4\n"

    async def scene(visit):
        await visit.send("../own.csv", table)
        await until(lambda: visit.refusal)
        assert "1 of 4 rows without a value" in visit.refusal
        assert "of own.csv: expected" in visit.refusal
        assert visit.elements(classes="own")[0].visible
        # The choice names still what the prior is from, which is not read again for that.
        assert visit.control("Column of a table", ui.select).value == "titanic: class"
        await asyncio.sleep(0.3)
        assert "1 of 4 rows without a value" in visit.refusal
        # A tick reads again what was refused.
        visit.tick("Leave out missing values")
        await until(lambda: visit.settings.source == Column("own.csv", "colour", None, "drop"))
        assert visit.settings.prior() == md.Prior.from_counts({"blue": 1, "red": 2})
        visit.choose("Counts are in", "number")
        await until(lambda: visit.settings.source.weights is not None)
        assert visit.settings.prior() == md.Prior.from_counts({"blue": 1, "red": 5})
        await visit.settled()
        lines = visit.shown("export")
        assert "own.csv --column colour --weights number --missing drop" in lines
        await visit.send("bad.csv", "")
        await until(lambda: "bad.csv" in visit.refusal)
        assert "table bad.csv: expected a header line" in visit.refusal
        assert visit.settings.source.table == "own.csv"
        assert len(list(tmp_path.iterdir())) == 1
        visit.choose("Column of a table", "own.csv: number")  # the file before it is still there
        await until(lambda: visit.settings.source.column == "number")
        await visit.send("new.csv", "pet\ncat\n")
        await until(lambda: visit.settings.names == ("cat",))
        assert len(list(tmp_path.iterdir())) == 1

    visiting(scene)


@pytest.mark.slow
def test_what_was_chosen_last_counts_and_large_files_are_read_elsewhere(
    visiting, background, monkeypatch
):
    monkeypatch.setattr(controls, "LARGE_FILE", 3)

    async def scene(visit):
        background.held = held = []

        def status():
            return [e.text for e in visit.elements(ui.label, classes="reading", role="status")]

        def read():
            return [source.column for source, _ in held if isinstance(source, Column)]

        await visit.send("own.csv", "a,b\n1,x\n2,y\n")
        await until(lambda: read() == ["a"])
        assert status() == ["reading own.csv …"]
        visit.choose("Column of a table", "own.csv: b")
        await until(lambda: read() == ["a", "b"])
        gate = {source.column: gate for source, gate in held if isinstance(source, Column)}
        gate["b"].set()
        await until(lambda: visit.settings.names == ("x", "y"))
        gate["a"].set()  # chosen before, and read after
        await until(lambda: [s.column for s in background.done if isinstance(s, Column)][1:])
        await asyncio.sleep(0.1)
        assert visit.settings.names == ("x", "y")
        assert status() == [""]
        # A prior made by hand while a file is read stays.
        visit.choose("Column of a table", "own.csv: a")
        await until(lambda: read() == ["a", "b", "a"])
        visit.press("Zipf")
        for _, gate in held:
            gate.set()
        background.held = None
        await until(lambda: status() == [""])
        await visit.settled()
        assert visit.settings.names == ("x", "y")
        assert visit.control("Column of a table", ui.select).value is None

    visiting(scene)


@pytest.mark.slow
def test_visitors_share_nothing_and_leave_nothing(visiting, tmp_path):
    async def scene(visit):
        first = visit.state
        visit.drag("Level ε of PML", -1.0)
        await visit.settled()
        many = "id\n" + "\n".join(map(str, range(60)))
        await visit.send("many.csv", many)
        await until(lambda: visit.refusal)
        assert len(list(tmp_path.iterdir())) == 1
        client = visit.user.client
        await visit.user.open("/")
        await visit.settled()
        assert visit.state is not first
        assert visit.settings == TITANIC
        assert first.settings.notion("pml").levels == (0.1,)
        client.delete()
        assert not list(tmp_path.iterdir())

    visiting(scene)


@pytest.mark.slow
def test_thirty_symbols_with_long_names(visiting):
    names = [f"a very long name of the symbol with the number {i}, and more" for i in range(30)]

    async def scene(visit):
        visit.press("Zipf")
        await visit.settled()
        assert len(visit.elements(Slider, unit="share")) == 30
        assert names[0] in visit.shown("results")
        assert f"{markup.escape(json.dumps(names[0]))}: " in visit.shown("export")
        json.dumps(visit.chart("lifts"), allow_nan=False)

    visiting(scene, guessing(md.Prior.uniform(names)))


# Places of a map: one visit in each of six cells

EVERYWHERE = "latitude,longitude\n" + "".join(
    f"{north},{east}\n" for north in (59.31, 59.35) for east in (18.0, 18.06, 18.12)
)


@pytest.mark.slow
def test_places_are_designed_when_asked_for(visiting, tmp_path):
    async def scene(visit):
        assert not visit.elements(classes="map")
        await visit.send("mine.csv", EVERYWHERE, place=1)
        await until(lambda: "mine.csv is used." in visit.shown("places"))
        visit.write("Cells, as rows x columns", "2x3")
        visit.write("Level in nats", "ln 3")
        visit.write("within metres", "3000")
        before = visit.settings
        visit.press("Design for these places")
        await until(lambda: "6 places" in visit.text("map-summary"))
        assert "1.09861 within 3000 m, checked exactly: yes" in visit.text("map-summary")
        assert visit.shown("places").count("<rect") == 6
        assert "planar Laplace" in visit.shown("places")
        assert "Reports of somebody at" in visit.shown("places")
        visit.choose("Somebody is at", "prior")
        assert "Prior: 0.167 at most" in visit.shown("places")
        # The other design on the page is left alone.
        assert visit.settings == before
        # A refusal hides the map, which is no longer that of the settings.
        visit.write("Cells, as rows x columns", "40x40")
        visit.press("Design for these places")
        await until(lambda: "at most 100" in visit.text("trouble"))
        assert visit.text("map-summary") == ""
        assert not visit.elements(classes="map-box")[0].visible

    visiting(scene)


@pytest.mark.slow
def test_a_file_of_visits_weighs_places_until_it_is_left_out(visiting, tmp_path):
    async def scene(visit):
        visit.write("Cells, as rows x columns", "2x2")
        visit.write("within metres", "3000")
        rows = "latitude,longitude\n" + "59.30,17.98\n" * 8
        await visit.send("mine.csv", rows, place=1)
        await until(lambda: "mine.csv is used." in visit.shown("places"))
        visit.press("Design for these places")
        await until(lambda: "4 places" in visit.text("map-summary"))
        visit.choose("Somebody is at", "prior")
        assert "Prior: 0.75 at most" in visit.shown("places")
        # As places they are refused, by the name that the visitor knows.
        visit.choose("What the file holds", "places")
        visit.press("Design for these places")
        await until(lambda: visit.text("trouble"))
        assert ".csv" not in visit.text("trouble").replace("mine.csv", "")
        (kept,) = tmp_path.glob("*.csv")
        visit.press("Without the map")
        await until(lambda: not kept.exists())
        assert not visit.elements(classes="map-box")[0].parent_slot.parent.visible

    visiting(scene)


# What is estimated


@pytest.mark.slow
def test_a_visitor_asks_for_something_else(visiting):
    async def scene(visit):
        assert not visit.elements(classes="question")[0].visible
        visit.choose("Utility", "estimation")
        await visit.settled()
        assert visit.elements(classes="question")[0].visible
        assert "the frequencies of all symbols" in visit.shown("results")
        assert "columns" not in visit.control("What is estimated", ui.select).options
        visit.choose("What is estimated", "symbol")
        assert visit.settings.asked == Asked("1st=1,2nd=0,3rd=0,crew=0")
        visit.choose("Symbol", "crew")
        await visit.settled()
        crew = md.utility.Estimation({"1st": 0, "2nd": 0, "3rd": 0, "crew": 1})
        found = visit.state.result.design
        assert found.risk == pytest.approx(md.design(TITANIC.prior(), crew, md.PML(0.5)).risk)
        assert "of the share of crew" in visit.shown("results")
        assert "for the share of crew" in visit.shown("frontier")
        assert visit.chart("frontier")["title"]["text"] == "for the share of crew"
        assert "--of 1st=0,2nd=0,3rd=0,crew=1" in visit.shown("export")
        # Numbers of a mean, one of which is no number.
        visit.choose("What is estimated", "mean")
        assert visit.settings.asked.of == "1st=1,2nd=2,3rd=3,crew=4"
        visit.write("Number of crew", "1/4")
        assert visit.settings.asked.of == "1st=1,2nd=2,3rd=3,crew=0.25"
        for text in ("", "x", "nan", "inf"):
            visit.write("Number of 1st", text)
            assert "number of 1st" in visit.refusal or "finite" in visit.refusal
            assert visit.control("Number of 1st", ui.input).props["error"]
        assert visit.settings.asked.of == "1st=1,2nd=2,3rd=3,crew=0.25"
        # A question that is written out begins with the one asked, and keeps its kind.
        visit.choose("What is estimated", "other")
        assert visit.control("Question", ui.input).value == "1st=1,2nd=2,3rd=3,crew=0.25"
        visit.write("Question", "[[1, -1, 0, 0], [0, 0, 1, -1]]")
        visit.write("What each error weighs", "1,3")
        assert visit.settings.asked == Asked("[[1, -1, 0, 0], [0, 0, 1, -1]]", "1,3")
        visit.write("Question", "1st=1,2nd=-1,3rd=0,crew=0")  # one answer, which has one weight
        assert visit.settings.asked == Asked("1st=1,2nd=-1,3rd=0,crew=0")
        visit.write("Question", "question.json")
        assert visit.refusal.endswith("[MD100]")
        assert "a number for each symbol" in visit.refusal
        # The shares at which errors count.
        visit.choose("True shares of the people", "any")
        await visit.settled()
        assert "whatever the true shares are" in visit.shown("results")
        visit.choose("True shares of the people", "other")
        assert visit.settings.asked.truth == "1st=1,2nd=1,3rd=1,crew=1"
        visit.write("Shares or counts", "5,3,2")
        assert "over the symbols" in visit.refusal
        visit.write("Shares or counts", "5,3,2,0")
        await visit.settled()
        assert "with true shares as in 5, 3, 2, 0" in visit.shown("frontier")
        assert visit.refusal == ""
        visit.choose("What is estimated", "all")
        visit.choose("True shares of the people", "prior")
        assert visit.settings.asked == Asked()
        visit.choose("Utility", "hamming")
        assert not visit.elements(classes="question")[0].visible

    visiting(scene)


@pytest.mark.slow
def test_columns_of_a_joint_table_are_asked_for(visiting):
    pair = ("class", "sex")
    joint = guessing(md.Prior.from_csv("titanic", pair), Column("titanic", pair))

    async def scene(visit):
        visit.choose("Utility", "estimation")
        visit.choose("What is estimated", "columns")
        assert visit.settings.asked == Asked("class")
        await visit.settled()
        assert "the shares of class" in visit.shown("results")
        assert "--column class --column sex" in visit.shown("export")
        visit.choose("Columns", ["class", "sex"])
        assert visit.settings.asked == Asked("class,sex")
        visit.choose("Columns", [])
        assert "columns: expected at least one" in visit.refusal
        assert visit.control("Columns", ui.select).value == ["class", "sex"]
        visit.drag(f"Mass of {joint.names[0]}", 0.3)
        await visit.settled()
        assert visit.settings.asked == Asked("class,sex")
        assert visit.state.result.design.prior.schema.names == pair
        visit.write("Name of symbol 1", "others")
        await visit.settled()
        assert visit.settings.asked == Asked()
        lost = [e.text for e in visit.elements(ui.label, role="status") if "No longer" in e.text]
        assert lost == ["No longer asked, as it does not fit these symbols: class,sex"]

    visiting(scene, joint)


@pytest.mark.slow
def test_an_address_begins_with_its_question(visiting):
    async def scene(visit):
        assert visit.settings.asked == Asked("1st=1,2nd=-1,3rd=0,crew=0", None, "any")
        assert visit.control("Utility", ui.select).value == "estimation"
        assert visit.control("What is estimated", ui.select).value == "other"
        assert visit.control("True shares of the people", ui.select).value == "any"
        assert visit.state.result.design.certificate.is_optimal
        assert visit.refusal == ""

    query = "utility=estimation&of=1st%3D1%2C2nd%3D-1%2C3rd%3D0%2Ccrew%3D0&truth=any&new=1"
    visiting(scene, address=f"/?{query}")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "fragment"),
    slow_but(
        2,
        [
            ("utility=%3Cscript%3Ealert(1)%3C/script%3E", "utility: expected one of absolute"),
            ("utility=estimation&of=%3Cscript%3E%3D1", "expected symbols of the prior"),
            (
                "utility=estimation&of=%22%27%26%3D1%2C%E2%80%AE%3D2",
                "expected symbols of the prior",
            ),
            ("utility=estimation&truth=NaN%2C1%2C1%2C1", "finite non-negative numbers"),
            ("utility=estimation&of=" + "x" * 30_000, "at most 20,000 characters"),
            ("utility=estimation&of=%2Fetc%2Fpasswd", "a number for each symbol"),
            ("of=a", "utility=estimation"),
        ],
    ),
)
def test_a_forged_address_begins_as_without_and_says_why(query, fragment, visiting):
    async def scene(visit):
        assert visit.settings == TITANIC
        assert fragment in visit.refusal
        assert re.search(r" \[MD\d{3}\]$", visit.refusal)
        assert "\u202e" not in visit.refusal
        assert visit.state.result.design.certificate.is_optimal
        visit.choose("Utility", "estimation")
        assert visit.refusal == ""

    visiting(scene, address=f"/?{query}")


@pytest.mark.parametrize(
    "name", slow_but(0, ["<script>alert(1)</script>", "\"'&", "a, b", "\u0627\u0644\u0641"])
)
def test_symbols_of_any_name_are_asked_for(name, visiting):
    async def scene(visit):
        visit.choose("Utility", "estimation")
        visit.write("Name of symbol 2", name)
        visit.choose("What is estimated", "symbol")
        visit.choose("Symbol", name)
        await visit.settled()
        assert visit.state.result.design.utility.of == {
            label: int(label == name) for label in visit.settings.labels
        }
        visit.choose("What is estimated", "other")
        visit.choose("What is estimated", "mean")
        await visit.settled()
        assert "<script>" not in "".join(element.content for element in visit.elements(ui.html))
        visit.write("Name of symbol 2", "b")
        assert visit.settings.asked.of == "1st=1,b=2,3rd=3,crew=4"

    visiting(scene)
