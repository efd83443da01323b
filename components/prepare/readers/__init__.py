"""What labelled images come as: one reader a format, each giving a `Source`."""
