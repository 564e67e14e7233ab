"""Plugins' folders: what counts in them, copies of them, and changes in them."""
