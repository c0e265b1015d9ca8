"""A source of words that a test chose."""

from __future__ import annotations

import numpy as np

from mechdesign.release.words import Words


class Listed(Words):
    """Words that a test chose."""

    source, for_production = "a test", False

    def __init__(self, words):
        super().__init__()
        self.words = np.array(words, dtype=np.uint64)

    def next_words(self, number):
        return self.words[self.position : self.position + number]

    def more_bits(self, position):
        raise AssertionError("no draw of this test is undecided")
