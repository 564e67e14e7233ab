"""Plugin runtimes, one file a kind; the file's name is the kind that a manifest names."""
