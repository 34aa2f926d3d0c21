"""From the features of an answer to whether it is given."""
