"""The check step: a candidate over HTTP -> results, each against its limits."""
