"""What the command line leaves with; what each says is in the docstring of the room."""

OK, NOT_MET, BAD_INPUT, FAILED, INFEASIBLE, UNWRITTEN = 0, 1, 2, 3, 4, 5
