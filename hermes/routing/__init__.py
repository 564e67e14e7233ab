"""The router: which intent a sentence is for, and why. It reads no manifests and runs nothing."""
