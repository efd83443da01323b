"""The local backend: supervised server processes on this machine."""
