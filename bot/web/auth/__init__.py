"""Authentication and access control: hosts, origins, sessions, the admin token, OpenID Connect."""
