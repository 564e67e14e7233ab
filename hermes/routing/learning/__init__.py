"""Learns weights from labelled texts. Only this package needs the extra `learn`; nothing that serves imports it."""
