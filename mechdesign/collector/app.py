"""The collector as a Starlette application: one place where requests come in and answers go out."""

from __future__ import annotations

import asyncio
import re
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from .. import __version__
from ..errors import InputError, StorageError, visible
from ..forms._write_form import PLACE, REPORTS, Form, content_policy
from .estimates import Estimator
from .exporting import write_reports
from .gate import Limits, Rates, check_origin, check_token
from .incoming import RefusedError, Row, read_reports
from .kernels import Collected
from .page import POLICY, page
from .store import Outcome, Store

# Seconds for which it is known whether the database answers.
_HEALTH = 1.0
_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_RAW_HEADERS = [(name.lower().encode(), value.encode()) for name, value in _HEADERS.items()]


class Committer:
    """Commits what waits in one transaction after the other, so that few syncs serve many.

    Whoever adds reports waits until they are on disk. Meanwhile others come, which the next
    transaction takes together.
    """

    def __init__(self, store: Store, limits: Limits) -> None:
        self._store, self._most = store, limits.waiting
        self._thread = ThreadPoolExecutor(1, "commit")
        self._rows: list[Row] = []
        self._done: asyncio.Future[list[Outcome]] | None = None
        self._running: asyncio.Task[None] | None = None

    async def add(self, rows: list[Row]) -> list[Outcome]:
        """What became of each report, when that is on disk."""
        start = len(self._rows)
        if start + len(rows) > self._most and start:
            raise _busy("too many reports wait for the disk")
        if self._done is None:
            self._done = asyncio.get_running_loop().create_future()
        done = self._done
        self._rows += rows
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._run())
        # Those who wait with this one need the answer, whether it still does or not.
        return (await asyncio.shield(done))[start : start + len(rows)]

    async def _run(self) -> None:
        """Commit as long as something waits."""
        loop = asyncio.get_running_loop()
        while self._done is not None:
            rows, done, self._rows, self._done = self._rows, self._done, [], None
            try:
                done.set_result(await loop.run_in_executor(self._thread, self._store.add, rows))
            except Exception as problem:  # whatever it is, those who wait must know
                print(f"error: {visible(str(problem))}", file=sys.stderr, flush=True)
                done.set_exception(_busy("the database does not take them now"))
                done.exception()  # is told to those who wait, if anybody does

    async def end(self) -> None:
        """Commit what still waits."""
        if self._running is not None:
            await self._running
        self._thread.shutdown()


def _form_files(form: Form) -> dict[str, tuple[str, str]]:
    """Text and kind of each file of a form, by the end of its address."""
    kinds = {"html": "text/html", "css": "text/css", "mjs": "text/javascript"}
    texts = form.files(collector=REPORTS, folder=f"{PLACE}/")
    texts[PLACE] = texts.pop("index.html")
    return {
        name: (text, kinds[name.rpartition(".")[2] if "." in name else "html"])
        for name, text in texts.items()
    }


def _busy(why: str) -> RefusedError:
    return RefusedError(
        503, f"collector: {why}; send the same again, with its nonces.", **{"Retry-After": "1"}
    )


class Health:
    """Whether the database answers: asked once in :data:`_HEALTH` seconds, whoever wants to know.

    Parameters
    ----------
    ask : raises where the database does not answer
    clock : seconds
    """

    def __init__(self, ask: Callable[[], object], clock: Callable[[], float]) -> None:
        self._ask, self._clock = ask, clock
        self._until = float("-inf")
        self._problem: StorageError | None = None
        self._asking = asyncio.Lock()

    async def check(self) -> None:
        """Raise :class:`StorageError` unless the database has just answered."""
        async with self._asking:
            if self._clock() >= self._until:
                try:
                    await run_in_threadpool(self._ask)
                except StorageError as problem:
                    self._problem = problem
                else:
                    self._problem = None
                self._until = self._clock() + _HEALTH
        if self._problem is not None:
            raise self._problem.with_traceback(None)  # it would grow with each request


class Collector:
    """Everything that a request needs: the kernels, the store, the limits.

    Parameters
    ----------
    kernels : what is collected
    store : where
    limits : Limits
    token, reader_token : what whoever sends, or reads, must know; ``None`` for nothing
    origins : pages of other hosts that may send reports, ``"*"`` for all
    form : the page on which the public answers, for kernels that are collected
    is_local : whether it listens to this machine only
    clock : seconds, for the rates
    """

    def __init__(
        self,
        kernels: Sequence[Collected],
        store: Store,
        *,
        limits: Limits | None = None,
        token: str | None = None,
        reader_token: str | None = None,
        origins: Sequence[str] = (),
        form: Form | None = None,
        is_local: bool = True,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self.store, self.limits = store, limits or Limits()
        numbers = store.register(kernels)
        self.estimators = [
            Estimator(one, number, store) for one, number in zip(kernels, numbers, strict=True)
        ]
        self.known = {
            digest: (number, one)
            for one, number in zip(kernels, numbers, strict=True)
            for digest in sorted(one.digests)
        }
        self.token, self.reader_token = token, reader_token or token
        self.origins, self.is_local = frozenset(origins), is_local
        self.form = {} if form is None else _form_files(form)
        clock = clock or time.monotonic
        self.rates = Rates(self.limits.rate, clock)
        self.health = Health(partial(store.others, numbers), clock)
        self.exporting = asyncio.Lock()
        self.committer: Committer | None = None

    # Requests

    async def post_reports(self, request: Request) -> Response:
        """Count reports; answers when they are on disk."""
        rows, is_list = read_reports(await self._body(request), self.known)
        if len(rows) > 1:
            self.rates.charge(_address(request), len(rows) - 1)
        assert self.committer is not None  # from start to end of the application
        outcomes = await self.committer.add(rows)
        wrong = [i + 1 for i, outcome in enumerate(outcomes) if outcome is Outcome.OTHER]
        answer: dict[str, Any] = {
            "counted": outcomes.count(Outcome.COUNTED),
            "already counted": outcomes.count(Outcome.AGAIN),
        }
        if wrong:
            which = f"reports {wrong[:20]}" if is_list else "report"
            answer["refused"] = len(wrong)
            answer["error"] = (
                f"{which}: expected a nonce of its own, got one that another report has; draw 16 "
                "random bytes for each report, and keep them for sending it again."
            )
            return JSONResponse(answer, 409)
        if not is_list:
            answer["status"] = outcomes[0].value
        return JSONResponse(answer)

    async def _body(self, request: Request) -> bytes:
        """The body, as far as it is not too large or too slow."""
        if request.headers.get("content-encoding", "identity") != "identity":
            raise RefusedError(
                415, "body: expected it as it is, got it compressed; send it plainly."
            )
        most = self.limits.body
        too_large = RefusedError(
            413,
            f"body: expected at most {most} bytes, got more; send fewer reports at once.",
            Connection="close",
        )
        length = request.headers.get("content-length", "0").lstrip("0") or "0"
        if not re.fullmatch("[0-9]{1,18}", length) or int(length) > most:
            raise too_large
        parts, size = [], 0
        try:
            async with asyncio.timeout(self.limits.patience):
                async for part in request.stream():
                    size += len(part)
                    if size > most:
                        raise too_large
                    parts.append(part)
        except TimeoutError:
            raise RefusedError(
                408,
                f"body: expected it within {self.limits.patience:g} s, got a part of it; send "
                "fewer reports at once.",
                Connection="close",
            ) from None
        return b"".join(parts)

    async def get_estimate(self, request: Request) -> Response:
        """Estimates as JSON, of one kernel (``?kernel=``) or of all."""
        chosen = self._chosen(request)
        found = [await run_in_threadpool(one.now) for one in chosen]
        return JSONResponse({"kernels": [one.to_json() for one in found]})

    async def get_counts(self, request: Request) -> Response:
        """The counts of one kernel, as :class:`ReportCounts` reads them."""
        return JSONResponse((await run_in_threadpool(self._one(request).counts)).to_json())

    async def get_kernels(self, request: Request) -> Response:
        """The public forms, from which devices draw."""
        texts = [one.collected.text for one in self._chosen(request)]
        return Response(f"[{','.join(texts)}]", media_type="application/json")

    async def get_page(self, request: Request) -> Response:
        """The page."""
        found = [await run_in_threadpool(one.now) for one in self.estimators]
        numbers = [one.number for one in self.estimators]
        others = await run_in_threadpool(self.store.others, numbers)
        text = await run_in_threadpool(page, found, others)
        return HTMLResponse(text, headers={"Content-Security-Policy": POLICY})

    async def get_form(self, request: Request) -> Response:
        """The page on which the public answers, and what it loads; it needs no token."""
        text, kind = self.form[request.url.path.rpartition("/")[2]]
        policy = f"{content_policy(REPORTS)}; frame-ancestors 'none'"
        return Response(text, media_type=kind, headers={"Content-Security-Policy": policy})

    async def get_parquet(self, request: Request) -> Response:
        """All reports of one kernel as Parquet."""
        one = self._one(request)
        # Without a name, so that nothing stays behind whatever happens.
        file = tempfile.TemporaryFile()
        async with self.exporting:
            await run_in_threadpool(write_reports, one, self.store, file)
        size = file.tell()
        file.seek(0)
        return StreamingResponse(
            iter(partial(file.read, 1 << 20), b""),
            media_type="application/vnd.apache.parquet",
            headers={
                "Content-Disposition": 'attachment; filename="reports.parquet"',
                "Content-Length": str(size),
            },
            background=BackgroundTask(file.close),
        )

    async def get_health(self, request: Request) -> Response:
        """Whether the database answers, and which kernels are collected; needs no token.

        No rate ends it, as whoever watches may have the address of all who report. The database is
        asked once in a while, for all who want to know.
        """
        await self.health.check()
        kernels = [
            {
                "kernel": one.collected.digest,
                "file": one.collected.name,
                "file_changed": one.collected.has_changed,
            }
            for one in self.estimators
        ]
        return JSONResponse({"status": "ok", "version": __version__, "kernels": kernels})

    def _chosen(self, request: Request) -> list[Estimator]:
        asked = request.query_params.get("kernel")
        if asked is None:
            return self.estimators
        number, _ = self.known.get(asked, (None, None))
        found = [one for one in self.estimators if one.number == number]
        if not found:
            raise RefusedError(
                404, "kernel: expected one that is collected here, got another; see /kernels."
            )
        return found

    def _one(self, request: Request) -> Estimator:
        found = self._chosen(request)
        if len(found) > 1:
            raise RefusedError(
                400,
                f"kernel: expected one of {len(found)}, got none; add ?kernel= and its digest, "
                "see /health.",
            )
        return found[0]

    # The application

    def app(self) -> Starlette:
        """The application for any ASGI server."""
        routes = [
            self._route("/reports", self.post_reports, self.token, method="POST"),
            self._route("/", self.get_page, self.reader_token),
            self._route("/estimate", self.get_estimate, self.reader_token),
            self._route("/counts", self.get_counts, self.reader_token),
            self._route("/reports.parquet", self.get_parquet, self.reader_token),
            self._route("/kernels", self.get_kernels),
            self._route("/health", self.get_health, is_limited=False),
            *(
                self._route(f"/{PLACE}" if name == PLACE else f"/{PLACE}/{name}", self.get_form)
                for name in self.form
            ),
        ]
        middleware = []
        if self.origins:
            middleware = [
                Middleware(
                    CORSMiddleware,
                    allow_origins=sorted(self.origins),
                    allow_methods=["GET", "POST"],
                    allow_headers=["Content-Type", "Authorization"],
                )
            ]
        made = Starlette(
            routes=routes,
            middleware=middleware,
            lifespan=self._life,
            exception_handlers={HTTPException: _http_problem},
        )
        made.router.redirect_slashes = False  # to a name that the request chose
        return made

    @asynccontextmanager
    async def _life(self, _: Starlette) -> AsyncIterator[None]:
        self.committer = Committer(self.store, self.limits)
        yield
        await self.committer.end()
        self.store.close()

    def _route(
        self,
        path: str,
        answer: Callable[..., Any],
        token: str | None = None,
        *,
        method: str = "GET",
        is_limited: bool = True,
    ) -> Route:
        """The answer, or one line that says why there is none, with the same headers."""

        async def guarded(request: Request) -> Response:
            made: Response
            try:
                check_origin(request.headers, self.origins, is_local=self.is_local)
                check_token(request.headers, token, browser=method == "GET")
                if is_limited:
                    self.rates.spend(_address(request), 1)
                made = await answer(request)
            except RefusedError as refusal:
                made = _refused(refusal)
            except (StorageError, InputError) as problem:
                print(f"error: {problem}", file=sys.stderr, flush=True)
                made = _refused(_busy("the database does not answer"))
            except OSError as problem:
                print(f"error: {visible(str(problem))}", file=sys.stderr, flush=True)
                made = _refused(_busy("this machine has no room for it"))
            except ClientDisconnect:
                made = Response(status_code=400)  # nobody reads it
            made.raw_headers.extend(_RAW_HEADERS)
            return made

        return Route(path, guarded, methods=[method])


def _address(request: Request) -> str:
    return request.client.host if request.client else ""


def _refused(refusal: RefusedError) -> JSONResponse:
    return JSONResponse({"error": refusal.message}, refusal.status, refusal.headers)


async def _http_problem(_: Request, problem: Exception) -> Response:
    """Paths and methods that are none."""
    assert isinstance(problem, HTTPException)
    text = (
        "request: expected POST /reports or GET of /, /estimate, /counts, /kernels, "
        "/reports.parquet or /health, got another; see mechdesign serve --help."
    )
    return JSONResponse(
        {"error": text}, problem.status_code, {**(problem.headers or {}), **_HEADERS}
    )
