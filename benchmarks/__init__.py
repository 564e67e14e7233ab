"""Measurements of the running daemon, as ratios to something bare that is measured in the same run."""
