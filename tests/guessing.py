"""The explorer on a question that is no estimate: guessing under PML(0.5), beside LIP and LDP."""

import mechdesign as md
from mechdesign.explorer.settings import Settings

#: The same on the command line.
ARGUMENTS = ("--privacy", "pml:0.5", "--utility", "hamming")


def guessing(prior, source=None):
    """Settings of such a question."""
    return Settings.of_prior(prior, source, [md.PML(0.5)], "hamming")
