"""Mathematics as MathML, made while the pages are built: no script runs and nothing is loaded."""

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.errors import ExtensionError


def mathml(text: str, display: str) -> str:
    """LaTeX as MathML; what cannot be read stops the build."""
    try:
        return convert(text, display=display)
    except Exception as error:
        raise ExtensionError(f"mathematics that cannot be read: {text!r}") from error


def _inline(translator, node):
    translator.body.append(mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def _block(translator, node):
    translator.body.append(f'<div class="math">{mathml(node.astext(), "block")}</div>')
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
