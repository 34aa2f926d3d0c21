"""A fake Teams: a tenant with its connector API, its hosts, and the people in it."""
