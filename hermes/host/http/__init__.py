"""What the runtime `http` is made of: addresses, requests and answers."""
