"""hermes.yaml and the environment as typed sections; an adapter's own options stay raw until it checks them."""

from hermes.config.document import Document
from hermes.config.loading import load_config
from hermes.config.sections import (
    AuthSection,
    CircuitBreakerSection,
    Config,
    HermesSection,
    JournalSection,
    LimitsSection,
    RouterSection,
    SessionsSection,
)

__all__ = [
    "AuthSection",
    "CircuitBreakerSection",
    "Config",
    "Document",
    "HermesSection",
    "JournalSection",
    "LimitsSection",
    "RouterSection",
    "SessionsSection",
    "load_config",
]
