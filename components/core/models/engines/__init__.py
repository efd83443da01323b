"""What runs a bundle's weights: one file an engine."""
