"""The durable inbox: an acknowledged message is answered exactly once, whatever process dies."""
