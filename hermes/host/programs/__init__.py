"""What the runtimes `executable` and `process` are made of: commands, and what a program prints."""
