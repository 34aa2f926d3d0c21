"""Read a Confluence over HTTP: one implementation of Wiki for Cloud, one for Data Center."""
