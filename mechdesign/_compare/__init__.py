"""Comparing notions: frontiers at matched levels, and what they say."""
