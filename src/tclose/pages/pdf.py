"""Pages as PDF, laid out by WeasyPrint: no browser is needed."""

from __future__ import annotations

from typing import Any

from tclose.errors import MissingExtraError, TcloseError


def to_pdf(html: str) -> bytes:
    """A page of `tclose.pages.page` as PDF; nothing is fetched from anywhere."""
    weasyprint = load()
    nothing = weasyprint.URLFetcher(allowed_protocols=())
    document: bytes = weasyprint.HTML(string=html, url_fetcher=nothing).write_pdf()
    return document


def load() -> Any:
    """The module that lays pages out."""
    try:
        import weasyprint
    except ImportError:
        raise MissingExtraError("weasyprint", "pdf", "A page as PDF") from None
    except OSError:  # it is there, but not the library that it sets text with
        raise TcloseError(
            "A page as PDF needs the system's library Pango, and it is not there. Install it (Debian: "
            "libpangoft2-1.0-0), or write a page that ends in .html and print it from a browser."
        ) from None
    return weasyprint
