"""A bundle, and how it answers: anchors, engines, post-processing."""
