"""Signing in: with the company's account by OpenID Connect, or with the admin token."""
