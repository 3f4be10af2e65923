"""A page of HTML in one file: it opens offline, in light and in dark, and asks nothing of any server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

STYLE = """
:root{color-scheme:light dark;--back:#fff;--ink:#1f2328;--soft:#59636e;--line:#d5dae0;--tint:#f4f6f8;--good:#1a7f37;
--bad:#b3261e}
@media(prefers-color-scheme:dark){:root{--back:#12161c;--ink:#e6e9ee;--soft:#a3adb9;--line:#3a424c;--tint:#1a2028;
--good:#5ccf78;--bad:#ff9a8f}}
*{box-sizing:border-box}
body{margin:0 auto;padding:2rem 1.2rem 4rem;max-width:62rem;background:var(--back);color:var(--ink);
font:16px/1.55 system-ui,sans-serif}
h1{font-size:1.7rem;margin:0 0 .4rem}h2{font-size:1.2rem;margin:2.4rem 0 .6rem}
p{max-width:46rem}.soft{color:var(--soft)}.good{color:var(--good)}.bad{color:var(--bad)}
figure{margin:1rem 0;overflow-x:auto}figcaption{color:var(--soft);font-size:.9rem;max-width:46rem}
svg{max-width:100%;height:auto}
.scroll{overflow-x:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.92rem}
th,td{padding:.3rem .8rem .3rem 0;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}
th{font-weight:600;color:var(--soft)}th:first-child,td:first-child{text-align:left}
.tiles{display:flex;flex-wrap:wrap;gap:.8rem;margin:1.2rem 0}
.tile{background:var(--tint);border-radius:8px;padding:.7rem 1rem;min-width:8.5rem}
.tile b{display:block;font-size:1.35rem}.tile span{color:var(--soft);font-size:.85rem}
.pair{display:flex;flex-wrap:wrap;gap:1rem}
"""


@dataclass
class Page:
    """A page in the making; all text is escaped, and what is added as HTML comes from here or from `Drawing`."""

    title: str
    parts: list[str] = field(default_factory=list)

    def heading(self, words: str) -> None:
        """Begin a section."""
        self.parts.append(f"<h2>{escape(words)}</h2>")

    def text(self, words: str, kind: str = "") -> None:
        """A paragraph; `kind` may be soft, good or bad."""
        self.parts.append(f'<p class="{kind}">{escape(words)}</p>' if kind else f"<p>{escape(words)}</p>")

    def tiles(self, tiles: Sequence[tuple[str, str]]) -> None:
        """Numbers that matter most, each with what it is."""
        inside = "".join(
            f'<div class="tile"><b>{escape(big)}</b><span>{escape(small)}</span></div>' for big, small in tiles
        )
        self.parts.append(f'<div class="tiles">{inside}</div>')

    def figure(self, svg: str, caption: str) -> None:
        """A picture, and what it shows."""
        self.parts.append(f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>")

    def table(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """A table, its first column to the left and the others to the right."""
        head = "".join(f"<th>{escape(name)}</th>" for name in header)
        body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
        self.parts.append(
            f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
        )

    def html(self) -> str:
        """The whole file."""
        return (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
            '<link rel="icon" href="data:,">\n'
            f"<title>{escape(self.title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
            f"<h1>{escape(self.title)}</h1>\n" + "\n".join(self.parts) + "\n</body>\n</html>\n"
        )

    def inline(self) -> str:
        """The parts alone, for a notebook."""
        return f"<style>{STYLE}</style><div>" + "\n".join(self.parts) + "</div>"
