"""The terminal application: what the history holds, to look through by keyboard. It has no logic of its own."""
