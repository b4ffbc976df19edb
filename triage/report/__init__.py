"""A report as text, JSON or Markdown."""
