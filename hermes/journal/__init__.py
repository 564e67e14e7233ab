"""The durable inbox: what was accepted, and how it ended, kept past the death of the process."""
