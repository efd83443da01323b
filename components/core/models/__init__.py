"""Bundles and inference: anchors, engines, post-processing."""
