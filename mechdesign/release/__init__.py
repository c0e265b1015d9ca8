"""From a kernel to data: exact draws, frames and files, estimates from the reports, accounts.

``sampler`` draws; ``frames``, ``engines`` and ``streams`` take the draws to where the data is;
``estimating`` and ``planning`` say what the reports tell and how many are needed; ``receipts`` and
``repeats`` say which mechanism made a report and what several rows about one person add up to.
"""
