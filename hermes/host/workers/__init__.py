"""What takes the calls of plugins: workers of every kind, how they are started, talked to and ended."""
