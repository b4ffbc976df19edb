"""The command line: no logic of its own."""
