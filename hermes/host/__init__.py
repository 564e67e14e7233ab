"""The plugin host: manifests, worker processes and the calls that run in them."""
