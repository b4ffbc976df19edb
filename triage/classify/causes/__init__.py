"""The causes, one file each, found by name."""
