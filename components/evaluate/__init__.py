"""Bundle and shards in, metrics and a report page out."""
