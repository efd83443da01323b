"""What every step speaks: boxes, records, manifest, bundle, config, errors and progress."""
