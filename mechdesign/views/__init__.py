"""Self-contained HTML pages: a comparison, a design for its reviewer."""
