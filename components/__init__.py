"""The steps: one folder each, with a plain function, its config and its KFP component."""
