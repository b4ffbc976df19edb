"""The use cases that the faces call."""
