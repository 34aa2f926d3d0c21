"""A Confluence as Frontdesk reads it, over HTTP against the one that runs here."""
