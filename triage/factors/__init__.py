"""The factors, one file each, found by name."""
