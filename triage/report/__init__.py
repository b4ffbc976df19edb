"""What was found out, for people (text, Markdown) and programs (JSON); every part takes values and returns a string."""
