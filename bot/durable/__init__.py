"""The durable inbox: what was acknowledged is answered once, whatever dies."""
