"""Pictures as SVG text: points, boxes and lines, legible on light and on dark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from xml.sax.saxutils import escape as escape_xml
from xml.sax.saxutils import quoteattr

from tclose.errors import printable

# By name: on light, on dark. The lines of a chart take `line0`, `line1`, ... in turn.
COLOURS = {
    "back": ("#ffffff", "#12161c"),
    "ink": ("#1f2328", "#e6e9ee"),
    "quiet": ("#59636e", "#a3adb9"),
    "faint": ("#d5dae0", "#3a424c"),
    "first": ("#0969b8", "#63b0ff"),
    "second": ("#c8570b", "#ffa257"),
    "line0": ("#0969b8", "#63b0ff"),
    "line1": ("#c8570b", "#ffa257"),
    "line2": ("#1a7f37", "#5ccf78"),
    "line3": ("#8a3fbf", "#cf9bff"),
    "line4": ("#a8336b", "#ff8fbf"),
    "line5": ("#6b5d00", "#d9c84a"),
    "line6": ("#00727a", "#4fd1d9"),
    "line7": ("#b3261e", "#ff9a8f"),
    "line8": ("#4d5566", "#b4bccb"),
    "line9": ("#5a3e1b", "#d8b48a"),
}
TEXT_HEIGHT = 15.0
THIN = 1.1  # the stroke of rings and boxes
SHAPES = ("dot", "square", "triangle", "diamond")


def escape(words: str) -> str:
    """Words within a picture; what is not printable is shown as an escape."""
    return escape_xml(printable(words))


def svg_style() -> str:
    """The rules of all drawings: they bind inside drawings alone, whatever page these stand in."""

    def rules(which: int) -> str:
        return "".join(f".tc .{name}{{color:{shades[which]}}}" for name, shades in COLOURS.items())

    return (
        ".tc text{font:13px system-ui,sans-serif;fill:currentColor}.tc .b{font-weight:600}"
        ".tc .f{fill:currentColor}.tc .s{fill:none;stroke:currentColor}.tc .t{fill-opacity:.05}"
        ".tc .m{fill-opacity:.22}.tc .shade0{fill-opacity:0}.tc .shade1{fill-opacity:.25}.tc .shade2{fill-opacity:.55}"
        ".tc .shade3{fill-opacity:.95}"
        f"{rules(0)}@media screen and (prefers-color-scheme:dark){{{rules(1)}}}"
    )


def style_element() -> str:
    """The rules as an element within each drawing; a page whose style sheet has them, and allows no other, removes it.

    Examples
    --------
    >>> drawing = Drawing(10, 10)
    >>> "style" in drawing.svg("nothing").replace(style_element(), "")
    False
    """
    return f"<style>{svg_style()}</style>"


@dataclass
class Drawing:
    """An SVG in the making; classes name colours (`COLOURS`) and how they fill.

    f full, m half full, t see-through, s stroke.
    """

    width: float
    height: float
    parts: list[str] = field(default_factory=list)

    def text(self, x: float, y: float, words: str, kind: str = "ink", anchor: str = "start") -> None:
        """Words that begin, end or have their middle there."""
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{escape(words)}</text>')

    def dots(self, points: Iterable[tuple[float, float]], kind: str, square: bool = False, size: float = 4.8) -> None:
        """Dots, or squares of the same size: so that colour is not all that tells them apart."""
        edge = 0.9 * size
        if square:
            path = "".join(
                f"M{x - edge / 2:.1f} {y - edge / 2:.1f}h{edge:.1f}v{edge:.1f}h-{edge:.1f}z" for x, y in points
            )
            self.parts.append(f'<path d="{path}" class="f {kind}"/>')
        else:
            path = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in points)
            self.parts.append(f'<path d="{path}" class="s {kind}" stroke-width="{size:g}" stroke-linecap="round"/>')

    def mark(self, x: float, y: float, kind: str, shape: str = "dot", told: str = "", size: float = 4.0) -> None:
        """One point of a chart, of a shape of `SHAPES`; what is told shows when it is pointed at."""
        corners = {
            "square": ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
            "triangle": ((0.0, -1.2), (1.1, 0.9), (-1.1, 0.9)),
            "diamond": ((0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)),
        }
        title = f"<title>{escape(told)}</title>" if told else ""
        if shape == "dot":
            self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size:g}" class="mark f {kind}">{title}</circle>')
            return
        places = " ".join(f"{x + a * size:.1f},{y + b * size:.1f}" for a, b in corners[shape])
        self.parts.append(f'<polygon points="{places}" class="mark f {kind}">{title}</polygon>')

    def ring(self, x: float, y: float, size: float = 5.0) -> None:
        """A small circle around a point."""
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size:g}" class="s ink" stroke-width="{THIN}"/>')

    def box(self, x: float, y: float, width: float, height: float, kind: str, told: str = "") -> None:
        """A rectangle; what is told shows when it is pointed at."""
        title = f"<title>{escape(told)}</title></rect>" if told else ""
        stroke = f' stroke-width="{THIN}"' if "s" in kind.split() else ""
        self.parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="1" class="{kind}"{stroke}'
            + (f">{title}" if told else "/>")
        )

    def line(self, points: Sequence[tuple[float, float]], kind: str, width: float = 1.3, dash: str = "") -> None:
        """Straight from point to point."""
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(f'<path d="{path}" class="s {kind}" stroke-width="{width:g}"{dashed}/>')

    def svg(self, title: str, inside: bool = False) -> str:
        """The whole file, with a title for those who cannot see it; `inside` a page it would pop up over the picture.

        The style goes along everywhere: not all that print a page look for it outside of the picture.
        """
        label = quoteattr(printable(title))
        titled = "" if inside else f"<title>{escape(title)}</title>"
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:g} {self.height:g}" '
                f'width="{self.width:g}" height="{self.height:g}" role="img" class="tc" aria-label={label}>',
                f"{titled}{style_element()}",
                f'<rect width="{self.width:g}" height="{self.height:g}" rx="6" class="f back"/>',
                *self.parts,
                "</svg>\n",
            ]
        )
