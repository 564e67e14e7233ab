"""What plugins say about themselves: read, checked, and put into words. Nothing of a plugin runs here."""
