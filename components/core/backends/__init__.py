"""Where a version runs: one contract, one module or folder a backend."""
