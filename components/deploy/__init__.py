"""The deploy step: a registered version -> a candidate that answers beside what serves."""
