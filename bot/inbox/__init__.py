"""The durable inbox: an acknowledged message is answered exactly once, even if processes die."""
