"""Formulas between dollar signs as drawings, so that a page needs no script to show them.

matplotlib sets them; each becomes one path in the colour of the text around it.
"""

import html
import re

import numpy as np
from matplotlib.font_manager import FontProperties
from matplotlib.path import Path as Outline
from matplotlib.textpath import TextPath

_UNITS_PER_EM = 1_000.0
_ENLARGED = 1.12
"""The letters of a formula are smaller than those of a screen's font of the same size."""
_CODE = re.compile(r"(^```.*?^```|`[^`\n]+`)", re.MULTILINE | re.DOTALL)
_DISPLAYED = re.compile(r"\$\$(.+?)\$\$", re.DOTALL)
_INLINE = re.compile(r"\$(?!\s)([^$]+?)(?<!\s)\$")
_COMMANDS = {
    int(Outline.MOVETO): ("M", 1),
    int(Outline.LINETO): ("L", 1),
    int(Outline.CURVE3): ("Q", 2),
    int(Outline.CURVE4): ("C", 3),
}


def with_formulas(page: str) -> str:
    """A page of Markdown with every formula outside code drawn."""
    parts = _CODE.split(page)
    return "".join(part if i % 2 else _drawn_in(part) for i, part in enumerate(parts))


def _drawn_in(text: str) -> str:
    text = _DISPLAYED.sub(lambda match: f'<p class="formula">{drawing(match[1])}</p>', text)
    return _INLINE.sub(lambda match: drawing(match[1]), text)


def drawing(formula: str) -> str:
    """One formula as an SVG element; its baseline lies on that of the text."""
    formula = " ".join(formula.split())
    properties = FontProperties(size=_UNITS_PER_EM, math_fontfamily="stix")
    outline = TextPath((0, 0), f"${_known_to_matplotlib(formula)}$", prop=properties)
    box = outline.get_extents()
    left, low, right, high = box.x0 - 20, min(box.y0, 0.0) - 20, box.x1 + 20, box.y1 + 20
    width, height = right - left, high - low
    em = _UNITS_PER_EM / _ENLARGED
    return (
        f'<svg class="formula" role="img" aria-label="{html.escape(formula, quote=True)}" '
        f'viewBox="{left:.0f} {-high:.0f} {width:.0f} {height:.0f}" '
        f'style="width:{width / em:.3f}em;height:{height / em:.3f}em;'
        f'vertical-align:{low / em:.3f}em">'
        f'<path fill="currentColor" d="{_path_data(outline)}"/></svg>'
    )


def _path_data(outline: Outline) -> str:
    """In SVG the axis points down, so that every y changes its sign."""
    words, waiting = [], 0
    points, codes = np.asarray(outline.vertices), np.asarray(outline.codes)
    for (x, y), code in zip(points.tolist(), codes.tolist(), strict=True):
        if code == int(Outline.CLOSEPOLY):
            words.append("Z")
            continue
        if waiting == 0:
            letter, waiting = _COMMANDS[code]
            words.append(letter)
        words.append(f"{x:.0f} {-y:.0f}")
        waiting -= 1
    return " ".join(words)


def _known_to_matplotlib(formula: str) -> str:
    """The spellings of LaTeX that its parser lacks, as those that it has."""
    formula = re.sub(r"\\([lg])e(?![a-zA-Z])", r"\\\1eq", formula)
    formula = re.sub(r"\\Big\|(.+?)\\Big\|", r"\\left|\1\\right|", formula)
    formula = re.sub(r"\\tfrac\s*(\w)\s*(\w)", r"\\frac{\1}{\2}", formula)
    formula = re.sub(r"\\sqrt\s*(\w)", r"\\sqrt{\1}", formula)
    return re.sub(r"\\mathcal\s*(\w)", r"\\mathcal{\1}", formula)
