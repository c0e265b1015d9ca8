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


class Stream(Words):
    """Words from a list of bytes, further ones where a draw asks for more."""

    source, for_production = "a test", False

    def __init__(self, stream):
        super().__init__()
        self.stream, self.place = stream, 0

    def bytes(self, number):
        found = self.stream[self.place : self.place + number]
        assert len(found) == number
        self.place += number
        return found

    def next_words(self, number):
        return np.frombuffer(self.bytes(8 * number), dtype="<u8").astype(np.uint64)

    def more_bits(self, position):
        while True:
            yield self.bytes(8)
