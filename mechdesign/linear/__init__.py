"""Linear and conic programs, compiled and handed to solvers of others, trusted in nothing."""
