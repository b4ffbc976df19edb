"""From trials and claims to findings; one file a cause, found by name."""
