"""Environments that are made for a project: what to install, where it is built, and how it is kept."""
