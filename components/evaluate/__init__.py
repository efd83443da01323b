"""The evaluate step: bundle and records in, metrics and a report page out."""
