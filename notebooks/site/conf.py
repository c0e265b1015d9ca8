"""How Sphinx makes the pages; ``build.py`` gathers the sources and checks what comes out."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import mechdesign

project = "mechdesign"
author = "The mechdesign maintainers"
version = release = mechdesign.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "myst_nb",
    "generator.mathml",
    "generator.docstrings",
]
# Notebooks are pages of their own; what is downloaded is as it was saved.
exclude_patterns = ["generator", "saved-notebooks", "**.ipynb_checkpoints"]
root_doc = "index"

# Pages are Markdown; notebooks are shown as they were saved.
myst_enable_extensions = ["dollarmath", "deflist", "colon_fence", "attrs_inline"]
myst_heading_anchors = 4
nb_execution_mode = "off"
nb_render_markdown_format = "myst"
html_math_renderer = "mathml"

# The reference comes from docstrings, in the order of the source.
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autosummary_generate = False
napoleon_numpy_docstring = True
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_param = False
napoleon_use_ivar = True
python_use_unqualified_type_names = True
maximum_signature_line_length = 90
add_module_names = False
# Words that say what an attribute is ("prior of the live symbols") are no names of anything.
suppress_warnings = ["ref.python"]
toc_object_entries_show_parents = "hide"

default_role = "code"

html_theme = "furo"
html_title = f"mechdesign {version}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["reach.js"]
html_search_scorer = str(Path(__file__).parent / "static" / "scorer.js")
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_theme_options = {"navigation_with_keys": True}
# Dates would differ between two builds of the same sources.
html_last_updated_fmt = None
# Among the styles with a contrast of 4.5 for every colour.
pygments_style = "xcode"
pygments_dark_style = "monokai"
