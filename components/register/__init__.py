"""The register step: an evaluated bundle -> a version in the registry."""
