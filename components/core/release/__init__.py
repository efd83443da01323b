"""Which version may go where, and which is there: registry, rules, results of checks, decisions."""
