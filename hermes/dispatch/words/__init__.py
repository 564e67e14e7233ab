"""The built-in words that Hermes answers itself, one file each. They run no plugin."""
