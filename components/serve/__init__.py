"""The serve step: an HTTP server for one or more bundles, and its demo page."""
