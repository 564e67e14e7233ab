"""What an operator sees: logs and metrics. Rooms above say what happened; this room says how it is written."""
