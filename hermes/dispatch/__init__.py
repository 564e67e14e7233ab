"""The way of a message from its arrival to its end. It knows no HTTP and no process; those are handed in or below."""
