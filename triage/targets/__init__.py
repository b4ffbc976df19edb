"""What there is to run: interpreters, pytest's collection, the plugins that are taken over."""
