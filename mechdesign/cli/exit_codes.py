"""What the command line leaves with; what each says is in the docstring of the room."""

OK, NOT_MET, BAD_INPUT, FAILED, INFEASIBLE = 0, 1, 2, 3, 4
