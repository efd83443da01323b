"""The promote step: evidence and the environment's rules -> a decision, carried out and recorded."""
