"""The quantize step: bundle in, bundle with smaller variants out, with the size and score of each."""
