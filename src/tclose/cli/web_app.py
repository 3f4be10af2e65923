"""`tclose app`: a local web page from table to release, for people who do not program."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Annotated

import typer

from tclose.cli.options import say
from tclose.errors import MissingExtraError, SchemaError

APP = "[bold]Examples:[/bold]\n\ntclose app\n\ntclose app patients.csv\n\ntclose app --folder exports --idle 15"
PANEL = "Where it listens"


def app(
    data: Annotated[
        Path | None,
        typer.Argument(help="A table to begin with; it can also be chosen on the page.", show_default=False),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(help="Tables below this folder can be opened by path; the current folder if not given."),
    ] = None,
    projects: Annotated[
        Path | None, typer.Option(help="Where projects are kept: your decisions and runs, not the tables.")
    ] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")] = True,
    idle: Annotated[float, typer.Option(help="End after this many minutes without use.")] = 60.0,
    most_upload: Annotated[
        float, typer.Option(min=0.001, help="The largest file that can be dropped onto the page, in gigabytes.")
    ] = 4.0,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port; 0 for any free one.", rich_help_panel=PANEL)
    ] = 0,
    host: Annotated[
        str, typer.Option(help="The address; another one needs --i-know and TLS files.", rich_help_panel=PANEL)
    ] = "127.0.0.1",
    i_know: Annotated[
        bool,
        typer.Option("--i-know", help="I know that others may reach the page at this address.", rich_help_panel=PANEL),
    ] = False,
    tls_certificate: Annotated[
        Path | None, typer.Option(help="The TLS certificate, a PEM file.", rich_help_panel=PANEL)
    ] = None,
    tls_key: Annotated[Path | None, typer.Option(help="Its key, a PEM file.", rich_help_panel=PANEL)] = None,
) -> None:
    """Open a page in the browser, on this machine alone, that leads from a table to a verified release.

    The link works once. The page ends with this command, or after a time without use.
    """
    try:
        from tclose.app.web_server import ServerOptions, WebServer, make_bench
    except ModuleNotFoundError as error:
        raise MissingExtraError(error.name or "starlette", "app", "The app") from None
    options = ServerOptions(host, port, tls_certificate, tls_key, i_know, idle)
    try:
        options.check()
    except SchemaError as error:
        raise typer.BadParameter(str(error)) from None
    bench = make_bench(folder or (data.parent if data is not None else Path()), projects, int(most_upload * 10**9))
    server = WebServer.of(bench, options)
    if data is not None:
        from tclose.app.open_table import TableRequest
        from tclose.table.table_location import TableLocation

        path = bench.allowed.locate(str(data.resolve()))
        bench.open_new(TableRequest(TableLocation(str(path)), path.name, {}))
    _serve(server, browser)


def _serve(server: object, browser: bool) -> None:
    """Show the link, open the browser, and serve."""
    from tclose.app.web_server import WebServer, link_file

    assert isinstance(server, WebServer)
    say(f"Open this link, which works once:\n  {server.link}\nCtrl-C ends the app.")
    with link_file(server.link) as page:
        if browser and sys.stderr.isatty():
            import webbrowser

            webbrowser.open(page.as_uri())
        with contextlib.suppress(KeyboardInterrupt):
            server.run()
    say("The app has ended. Projects are kept.")
