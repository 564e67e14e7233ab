"""Measurements of the running daemon and its journal, beside something bare that is measured in the same run."""
