"""Whose the processes of plugins are: their marks, their limits and their ends."""
