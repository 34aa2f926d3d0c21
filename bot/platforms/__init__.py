"""The chat platforms that Frontdesk is joined to. No platform imports another."""
