"""Hermes: a messenger daemon that carries a sentence to the plugin it is for and the answer back."""

__version__ = "0.1.0"
