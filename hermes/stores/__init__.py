"""Small values under keys, for as long as they are wanted: what is remembered between messages, not the messages."""
