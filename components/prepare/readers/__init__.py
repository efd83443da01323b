"""Input formats: one reader per format, each returning a `Source`."""
