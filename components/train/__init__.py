"""Training: shards in, a model bundle out."""
