"""Statistics: intervals, exact tests, sample sizes, and the search that minimises a failing sequence."""
