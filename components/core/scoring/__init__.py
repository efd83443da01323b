"""Answers held against the truth."""
