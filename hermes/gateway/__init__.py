"""The HTTP face of Hermes. It checks shapes and rights and writes answers; what messages do is decided below."""
