"""A page of HTML in one file: it opens offline, in light and in dark, and asks nothing of any server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape as escape_html

from tclose.errors import printable

LIGHT = "--tc-back:#fff;--tc-ink:#1f2328;--tc-soft:#59636e;--tc-line:#d5dae0;--tc-tint:#f4f6f8"
DARK = "--tc-back:#12161c;--tc-ink:#e6e9ee;--tc-soft:#a3adb9;--tc-line:#3a424c;--tc-tint:#1c232c"

# Every rule begins with .tclose, so that a notebook around it stays as it is.
STYLE = (
    f".tclose{{color-scheme:light dark;{LIGHT}}}"
    f"@media screen and (prefers-color-scheme:dark){{.tclose{{{DARK}}}}}"
    """
.tclose{background:var(--tc-back);color:var(--tc-ink);font:16px/1.55 system-ui,sans-serif}
.tclose *{box-sizing:border-box}
.tclose h1{font-size:1.75rem;line-height:1.25;margin:0 0 .5rem}.tclose h2{font-size:1.22rem;margin:2.6rem 0 .5rem}
.tclose p,.tclose li{max-width:46rem}.tclose .lead{font-size:1.12rem}.tclose .soft{color:var(--tc-soft)}
.tclose figure{margin:1rem 0 1.6rem;overflow-x:auto}
.tclose figcaption{color:var(--tc-soft);font-size:.9rem;max-width:46rem;margin-top:.3rem}
.tclose svg{width:100%;min-width:44rem;max-width:940px;height:auto;display:block}
.tclose .scroll{overflow-x:auto;margin:.8rem 0}
.tclose table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.92rem;background:none;color:inherit}
.tclose th,.tclose td{padding:.32rem 1.1rem .32rem 0;text-align:right;border:0;white-space:nowrap;
border-bottom:1px solid var(--tc-line);background:none;color:inherit}
.tclose thead th{font-weight:600;color:var(--tc-soft);vertical-align:bottom}
.tclose th:first-child,.tclose td:first-child{text-align:left}
.tclose .words td{white-space:normal;vertical-align:top;min-width:7rem;text-align:left}
.tclose .words th{text-align:left}
.tclose tr.best td{font-weight:600}
.tclose .tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(9.5rem,1fr));gap:.8rem;margin:1.3rem 0}
.tclose .tile{background:var(--tc-tint);border-radius:8px;padding:.7rem 1rem}
.tclose .tile b{display:block;font-size:1.4rem;line-height:1.3}
.tclose .tile span{display:block;line-height:1.35;color:var(--tc-soft);font-size:.86rem}
@media print{.tclose{font-size:11pt}.tclose .tiles{display:flex}.tclose .tile{flex:1}
.tclose svg{min-width:0}.tclose figure,.tclose tr,.tclose .tile{break-inside:avoid}
.tclose h2{break-after:avoid}.tclose .scroll,.tclose figure{overflow:visible}
.tclose table{font-size:8.5pt}.tclose th,.tclose td{padding-right:.6rem;white-space:normal}}
"""
)
WHOLE = """
html{background:var(--tc-back)}html,body{margin:0}
.tclose{margin:0 auto;padding:2.2rem 1.3rem 4rem;max-width:62rem}
@media print{.tclose{padding:0;max-width:none}}
"""
INLINE = """
.tclose.note{border:1px solid var(--tc-line);border-radius:8px;padding:.8rem 1.1rem;max-width:60rem;font-size:14px}
.tclose.note h1{font-size:1.1rem;margin:0}.tclose.note p{margin:.4rem 0}.tclose.note .tiles{margin:.7rem 0}
.tclose.note .tile b{font-size:1.1rem}.tclose.note .tile{padding:.4rem .9rem}
"""


def escape(words: str) -> str:
    """Words as HTML; what is not printable, and what turns the direction of text, is shown as an escape."""
    return escape_html(printable(words))


@dataclass
class Page:
    """A page in the making; all text is escaped, and what is added as HTML comes from here or from `Drawing`."""

    title: str
    parts: list[str] = field(default_factory=list)

    def heading(self, words: str) -> None:
        """Begin a section."""
        self.parts.append(f"<h2>{escape(words)}</h2>")

    def text(self, words: str, kind: str = "") -> None:
        """A paragraph; `kind` may be lead or soft."""
        self.parts.append(f'<p class="{kind}">{_prose(words)}</p>' if kind else f"<p>{_prose(words)}</p>")

    def points(self, entries: Sequence[str]) -> None:
        """Sentences, one below the other."""
        self.parts.append("<ul>" + "".join(f"<li>{_prose(entry)}</li>" for entry in entries) + "</ul>")

    def tiles(self, tiles: Sequence[tuple[str, str]]) -> None:
        """Numbers that matter most, each with what it is."""
        inside = "".join(
            f'<div class="tile"><b>{_prose(big)}</b><span>{_prose(small)}</span></div>' for big, small in tiles
        )
        self.parts.append(f'<div class="tiles">{inside}</div>')

    def figure(self, svg: str, caption: str) -> None:
        """A picture, and what it shows; where it is wider than the screen, the keyboard reaches and scrolls it."""
        words = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
        self.parts.append(f'<figure tabindex="0">{svg}{words}</figure>')

    def table(
        self, header: Sequence[str], rows: Sequence[Sequence[str]], best: Sequence[int] = (), words: bool = False
    ) -> None:
        """A table of numbers, or of words; some rows may be the best."""
        head = "".join(f"<th>{escape(name)}</th>" for name in header)
        body = "".join(
            ('<tr class="best">' if place in best else "<tr>")
            + "".join(f"<td>{escape(cell)}</td>" for cell in row)
            + "</tr>"
            for place, row in enumerate(rows)
        )
        kind = ' class="words"' if words else ""
        self.parts.append(
            f'<div class="scroll" tabindex="0"><table{kind}><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
            "</div>"
        )

    def html(self) -> str:
        """The whole file."""
        return (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
            'img-src data:">\n'
            '<meta name="referrer" content="no-referrer">\n<link rel="icon" href="data:,">\n'
            f"<title>{escape(self.title)}</title>\n<style>{STYLE}{_whole()}</style>\n</head>\n"
            f'<body>\n<main class="tclose">\n<h1>{escape(self.title)}</h1>\n'
            + "\n".join(self.parts)
            + "\n</main>\n</body>\n</html>\n"
        )

    def inline(self) -> str:
        """The same for a notebook, whose own style stays as it is."""
        return (
            f"<style>{STYLE}{INLINE}</style>"
            f'<div class="tclose note"><h1>{escape(self.title)}</h1>' + "\n".join(self.parts) + "</div>"
        )


def _prose(words: str) -> str:
    """Words as HTML; `t = 0.2` stays on one line."""
    return escape(words).replace(" = ", "&nbsp;=&nbsp;")


def _whole() -> str:
    """Rules for what lies around the page: it has the colour of the page."""
    dark = f"@media screen and (prefers-color-scheme:dark){{html{{{DARK}}}}}"
    return f"html{{color-scheme:light dark;{LIGHT}}}{dark}{WHOLE}"
