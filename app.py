"""The app: open audits, loop over the tabs, serve images by URL, launch. `python app.py --help`."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from threading import BoundedSemaphore
from typing import Any

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")

import gradio as gr
from fastapi import FastAPI, Request
from fastapi.responses import FileResponse, HTMLResponse, PlainTextResponse, Response, StreamingResponse

from backend.store import Audit, StoreError, audit_names
from explorers import EXPLORERS, GROUPS
from explorers._grid import detail
from explorers._guard import Guard
from explorers._query import METHODS, Queries
from explorers._serving import can_listen, serve
from explorers._shared import (
    ASSETS,
    Served,
    View,
    count,
    csv_chunks,
    escape,
    note_html,
    params_of,
    subjects_in_words,
)
from explorers._tabs import groups_html
from explorers._theme import make_theme

HERE = Path(__file__).parent
FOREVER = {"Cache-Control": "public, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff"}
ALONE = {**FOREVER, "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox"}

TAGLINE = (
    "Whom do text-to-image systems picture when a prompt names only a profession?"
    '<span class="lk-more"> Compare systems side by side, and with the labour force.</span>'
)
CONTENT_NOTE = (
    '<details class="lk-note"><summary><b>Content note.</b> Generated pictures; some repeat stereotypes and can offend.'
    "</summary><p>The pictures came here as the work of text-to-image systems. They show nobody: Likeness says what a "
    "prompt asked for and what was measured, never what a pictured person is.</p></details>"
)
UI = ("app.js", "app.css", "charts.js", "faces.js", "neighbours.js", "neutrality.js", "ask.js", "hiring.js")
QUEUED = 64
"""Events that wait for Gradio's queue, which only Live uses; more than its memory of sessions holds would stop it."""
SESSIONS = 500
"""Visitors whose controls Gradio keeps in memory, about 0.7 MB each; the one seen longest ago has to reload."""
ADDRESS_JS = """
watch('value', () => window.likeness.push(props.value));
window.likeness.connect(() => trigger('submit'));
"""


def open_audits(cache: Path, names: list[str]) -> tuple[dict[str, Audit], list[str]]:
    """The audits by name, and a sentence for each that could not be opened. Without names: all in the cache."""
    stores, problems = {}, []
    for name in names or audit_names(cache):
        try:
            stores[name] = Audit.open(cache, name)
        except StoreError as error:
            problems.append(str(error))
    return stores, problems


def header_html(stores: Mapping[str, Audit], problems: list[str]) -> str:
    """What this is, what is loaded, and the content note."""
    loaded = "".join(
        f"<li><b>{escape(audit.name)}</b>: {count(len(audit), 'image')}, "
        f"{count(audit.generations['system'].nunique(), 'system')}, "
        f"{subjects_in_words(audit)}{note_html(audit)}</li>"
        for audit in stores.values()
    )
    failed = "".join(f'<p class="lk-problem" role="alert">{escape(problem)}</p>' for problem in problems)
    note = CONTENT_NOTE if stores else ""
    return (
        f'<header class="lk-header"><h1>Likeness</h1><p class="lk-tagline">{TAGLINE}</p>'
        f'<ul class="lk-loaded">{loaded or "<li>No audit is open.</li>"}</ul></header>{failed}{note}'
    )


def make_blocks(stores: Mapping[str, Audit], problems: list[str]) -> gr.Blocks:
    """All tabs. An address opens its own tab's view; the other tabs open theirs when they are first chosen."""
    with gr.Blocks(title="Likeness", analytics_enabled=False) as blocks:
        gr.HTML(header_html(stores, problems))
        address_bar = gr.HTML("", html_template="", js_on_load=ADDRESS_JS, visible="hidden", elem_id="lk-address")
        views, tabs = {}, {}
        with gr.Tabs(elem_id="lk-tabs", overflow_behavior="wrap") as bar:
            for module in EXPLORERS:
                with gr.Tab(module.TITLE, id=module.SLUG) as tabs[module.SLUG]:
                    views[module.SLUG] = module.build(stores, address_bar)
        blocks.closing = [view.close for view in views.values()]
        everything = [component for view in views.values() for component in view.outputs]

        def restore(query: str) -> list[Any]:
            params = params_of(query)
            asked = (params.get("tab") or [""])[0]
            slug = asked if asked in views else EXPLORERS[0].SLUG
            updates = []
            for name, view in views.items():
                updates += view.open(params) if name == slug else [gr.skip()] * len(view.outputs)
            return [gr.Tabs(selected=slug), *updates]

        def load(request: gr.Request) -> list[Any]:
            return restore(str(request.query_params))

        def first_look(view: View):
            def look(query: str) -> Any:
                updates = view.open(params_of(str(query))) if query else [gr.skip()] * len(view.outputs)
                return updates if len(updates) > 1 else updates[0]  # one output takes a value, not a list

            return look

        quiet = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}
        loaded = blocks.load(load, None, [bar, *everything], **quiet)
        loaded.then(None, js="() => window.likeness.start()", **quiet)
        # a step while another is answered waits for it, and then asks for the address as it is by then
        steps = {"js": "() => [location.search]", "trigger_mode": "always_last", **quiet}
        address_bar.submit(lambda query: restore(str(query)), [address_bar], [bar, *everything], **steps)
        for slug, tab in tabs.items():
            if not views[slug].outputs:
                continue
            script = f"() => [window.likeness.tab('{slug}', '{EXPLORERS[0].SLUG}')]"
            tab.select(first_look(views[slug]), [address_bar], views[slug].outputs, js=script, **quiet)
    return blocks


MISSING = PlainTextResponse("Not found", status_code=404)


def add_routes(app: FastAPI, stores: Mapping[str, Audit]) -> None:
    """Images, details, tables and files, each found by a look-up: no path is ever built from a request."""

    @app.exception_handler(StoreError)
    def damaged(request: Request, error: StoreError) -> Response:
        print(f"Error: {error}", file=sys.stderr)
        return PlainTextResponse("This audit is damaged: `python -m backend status` says where", status_code=500)

    _add_images(app, stores)
    _add_files(app, stores)


def _add_images(app: FastAPI, stores: Mapping[str, Audit]) -> None:
    async def thumbnail(request: Request) -> Response:  # a few kilobytes from the memory map: quicker than by a thread
        store = stores.get(request.path_params["audit"])
        row = store.row_of(request.path_params["generation"]) if store else None
        return MISSING if row is None else Response(store.thumbnail(row), media_type="image/webp", headers=FOREVER)

    app.add_route("/image/{audit}/{generation}/thumbnail", thumbnail)

    @app.get("/image/{audit}/{generation}/{kind}")
    def image(audit: str, generation: str, kind: str) -> Response:
        store = stores.get(audit)
        row = store.row_of(generation) if store else None
        if row is None or kind not in ("original", "download"):
            return MISSING
        data, mime = store.image(row)
        headers = dict(ALONE)
        if kind == "download":
            name = f"{store.name}-{generation}.{mime.removeprefix('image/')}"
            headers["Content-Disposition"] = f'attachment; filename="{name}"'
        return Response(data, media_type=mime, headers=headers)

    @app.get("/detail/{audit}/{generation}")
    def one_detail(audit: str, generation: str) -> Response:
        store = stores.get(audit)
        row = store.row_of(generation) if store else None
        return MISSING if row is None else HTMLResponse(detail(store, row), headers={"X-Likeness": "detail"})


def _add_files(app: FastAPI, stores: Mapping[str, Audit]) -> None:
    modules = {module.SLUG: module for module in EXPLORERS}
    one_table = BoundedSemaphore(1)

    @app.get("/csv/{slug}")
    def csv(slug: str, request: Request) -> Response:
        module = modules.get(slug)
        if module is None or not hasattr(module, "table") or not stores:
            return MISSING
        if not one_table.acquire(timeout=5):
            return PlainTextResponse("Another table is being written: try again in a moment", status_code=503)
        try:
            made = module.table(stores, params_of(str(request.query_params)))
        finally:
            one_table.release()
        name = re.sub("[^A-Za-z0-9-]+", "-", str(made.attrs.get("name", slug)))[:120]  # a tab may name its tables
        headers = {"Content-Disposition": f'attachment; filename="likeness-{name}.csv"'}
        return StreamingResponse(csv_chunks(made), media_type="text/csv; charset=utf-8", headers=headers)

    @app.get("/files/{slug}/{name}")
    def file(slug: str, name: str) -> Response:
        path = getattr(modules.get(slug), "FILES", {}).get(name)
        return MISSING if path is None else FileResponse(path, filename=name)

    @app.get("/data/{slug}/{name}")
    def data(slug: str, name: str, request: Request) -> Response:
        serve = getattr(modules.get(slug), "DATA", {}).get(name) if stores else None
        made = serve(stores, params_of(str(request.query_params))) if serve else None
        if made is None:
            return MISSING
        body, kind, status, headers = Served(*made)
        return Response(body, status, {"X-Likeness": name, **headers}, kind)

    queries = Queries()

    @app.api_route("/query/{slug}/{name}", methods=METHODS)
    async def query(slug: str, name: str, request: Request) -> Response:
        ask = getattr(modules.get(slug), "QUERY", {}).get(name) if stores else None
        if ask is None:
            return MISSING
        params = params_of(str(request.query_params))
        return await queries.answer(request, lambda body: ask(stores, params, body), name)

    @app.get("/ui/{name}")
    def asset(name: str) -> Response:
        return FileResponse(ASSETS / name) if name in UI else MISSING


def make_app(stores: Mapping[str, Audit], problems: list[str] | None = None) -> FastAPI:
    """The whole app, ready for a server: our routes, then the tabs at /."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    add_routes(app, stores)
    blocks = make_blocks(stores, problems or [])
    # Gradio checks the paths in a request's data only in an app that it launched itself (_check_allowed); a mounted one
    # would hand out any file of this machine. See also explorers/_guard.py.
    blocks.has_launched = blocks.is_running = True
    blocks.state_session_capacity = SESSIONS
    blocks.queue(max_size=QUEUED, api_open=False)
    head = (
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        + "".join(f'<script src="ui/{name}"></script>' for name in UI if name.endswith(".js"))
        + '<link rel="stylesheet" href="ui/app.css">'
        + groups_html({name: [module.SLUG for module in modules] for name, modules in GROUPS.items()})
    )
    app = gr.mount_gradio_app(
        app,
        blocks,
        path="/",
        theme=make_theme(),
        head=head,
        footer_links=[],
        run_history=False,
        ssr_mode=False,
        show_error=False,
        enable_monitoring=False,
    )
    app.add_middleware(Guard)
    app.state.closing = blocks.closing
    return app


def parser() -> argparse.ArgumentParser:
    """The command line's grammar."""
    on_space = "SPACE_ID" in os.environ
    top = argparse.ArgumentParser(description="Open audits in the browser.")
    top.add_argument("names", nargs="*", metavar="NAME", help="audits to open (default: all in the cache)")
    top.add_argument("--cache", type=Path, default=HERE / "cache", metavar="DIR", help="where audits lie")
    text = "a spec whose systems the tab Live draws with (default: those that ship, or $LIKENESS_SYSTEMS)"
    top.add_argument("--systems", type=Path, metavar="SPEC", help=text)
    top.add_argument("--host", default=os.environ.get("GRADIO_SERVER_NAME", "0.0.0.0" if on_space else "127.0.0.1"))  # noqa: S104
    top.add_argument("--port", type=int, default=os.environ.get("GRADIO_SERVER_PORT", "7860"))
    return top


def main(argv: list[str] | None = None) -> int:
    """Open audits and serve until interrupted. 1 where an audit that was named cannot be opened."""
    arguments = parser().parse_args(argv)
    stores, problems = open_audits(arguments.cache, arguments.names)
    for problem in problems:
        print(f"Error: {problem}", file=sys.stderr)
    if problems and arguments.names:
        return 1
    if not 0 < arguments.port < 65536 or not can_listen(arguments.host, arguments.port):
        where = f"{arguments.host}, port {arguments.port}"
        print(f"Error: cannot listen at {where}: is another app there? Choose another with --port", file=sys.stderr)
        return 1
    if arguments.systems is not None:
        os.environ["LIKENESS_SYSTEMS"] = str(arguments.systems)
    app = make_app(stores, problems)
    print(f"Likeness: http://{arguments.host}:{arguments.port} ({count(len(stores), 'audit')} open)", flush=True)
    serve(app, arguments.host, arguments.port, app.state.closing)
    return 0


if __name__ == "__main__":
    sys.exit(main())
