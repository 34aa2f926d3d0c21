"""Read Confluence, Cloud and Data Center, as a source of pages."""
