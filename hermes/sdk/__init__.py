"""What runs inside a plugin's own process. Standard library only; imports nothing else of Hermes."""
