"""The pipelines (wiring only), the in-process runner and the command line."""
