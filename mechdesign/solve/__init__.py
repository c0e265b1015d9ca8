"""How the optimum is found: problem, choice of a method, methods, repair, certificate."""
