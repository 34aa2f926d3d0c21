"""Read pages on this machine: a folder of files, uploaded documents."""
