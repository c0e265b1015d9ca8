"""What a design amounts to, as data: what is maximised, what must hold, and dual variables."""
