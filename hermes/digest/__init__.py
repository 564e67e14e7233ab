"""The short form of a result, for people and models. The raw result is kept elsewhere and not touched here."""
