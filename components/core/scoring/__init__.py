"""Metrics: predictions compared with ground truth."""
