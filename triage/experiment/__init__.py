"""Chooses trials: screen, focus, confirm; knows neither processes nor the database."""
