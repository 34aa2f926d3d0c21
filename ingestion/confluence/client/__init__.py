"""A Confluence read over HTTP: one implementation of Wiki for Cloud, one for Data Center."""
