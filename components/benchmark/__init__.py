"""Bundle in, images/s, latency and images/$ out."""
