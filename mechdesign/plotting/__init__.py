"""Pictures, on matplotlib, which is loaded when the first one is drawn.

Each function takes ``ax=None``, draws on these axes or on a new figure, and returns the axes.
"""
