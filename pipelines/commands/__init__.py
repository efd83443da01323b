"""What each `towpath …` command does. Importing it imports neither KFP nor TensorFlow."""
