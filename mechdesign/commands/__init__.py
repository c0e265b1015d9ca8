"""One function for each command of the command line; ``cli`` puts them together."""
