"""The benchmark step: bundle in, images/s, latency and images/$ out."""
