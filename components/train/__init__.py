"""The train step: records in, a model bundle out."""
