"""How does the public answer, without anybody else ever having the answers?

In: a design, and the wording of a question.
Out: one page that draws the report in the browser of whoever answers and sends it to a collector;
served by that collector, or written for another host.

``wording`` (what the page says, in which languages) → ``protection`` (one sentence about the kernel
that a layman can check) → ``_write_form`` (the page and its files).
"""
