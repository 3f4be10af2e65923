"""How Sphinx builds the site: `make docs`."""

from __future__ import annotations

from sphinx.application import Sphinx

import tclose

project = "tclose"
author = "the tclose project"
release = version = tclose.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["results", "generate", "**/__pycache__"]
suppress_warnings = ["ref.python"]  # a field named in a docstring has the name of other classes' fields

myst_heading_anchors = 4  # the same anchors as a repository's viewer makes

autodoc_typehints = "signature"
autodoc_member_order = "bysource"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
napoleon_custom_sections = ["Guarantee", "Cost"]
default_role = "literal"  # a word in single backquotes is code, as in Markdown
add_module_names = False

html_theme = "furo"
html_title = "tclose"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_theme_options = {
    "top_of_page_buttons": [],
    "light_css_variables": {"color-brand-primary": "#0969b8", "color-brand-content": "#0969b8"},
    "dark_css_variables": {"color-brand-primary": "#63b0ff", "color-brand-content": "#63b0ff"},
}


def _inside(app: Sphinx, name: str, text: list[str]) -> None:
    """Links to pages that lie beside the folder of the docs lead to the pages that include them."""
    up = "../" * name.count("/")
    for file, page in {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}.items():
        text[0] = text[0].replace(f"]({up}../{file}", f"]({up}{page}")


def _bars(app: Sphinx, what: str, name: str, value: object, options: object, lines: list[str]) -> None:
    """Bars around a number stand for its size, and not for what reStructuredText puts in their place."""
    shown = False  # within an example, where nothing is put in place of anything
    for place, line in enumerate(lines):
        shown = line.lstrip().startswith(">>>") or (shown and bool(line.strip()))
        if not shown:
            lines[place] = line.replace("|", r"\|")


def _made_elsewhere(app: Sphinx, what: str, name: str, value: object, *rest: object) -> tuple[str, str] | None:
    """Of a class with hidden fields nobody gives the arguments: its signature is not shown."""
    hidden = what == "class" and any(field.startswith("_") for field in getattr(value, "__dataclass_fields__", ()))
    return ("", "") if hidden else None


def _short_signatures() -> None:
    """The keys of a schema are many, and on a page of their own: functions that take them are shown with `**keys`."""
    for name in tclose.__all__:
        value = getattr(tclose, name)
        if "__signature__" in getattr(value, "__dict__", {}):
            del value.__signature__


def setup(app: Sphinx) -> None:
    """Let pages lead to pages of the site, and docstrings read as they are meant."""
    _short_signatures()
    app.connect("source-read", _inside)
    app.connect("autodoc-process-docstring", _bars)
    app.connect("autodoc-process-signature", _made_elsewhere)
