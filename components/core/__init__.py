"""Code shared by all steps: boxes, records, manifest, bundle, config, errors and progress."""
