"""What labelled pictures come as: one reader a format, each giving a `Source`."""
