"""The values that every part exchanges: frozen, typed, without behaviour that touches the outside world."""
