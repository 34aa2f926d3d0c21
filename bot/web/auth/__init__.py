"""Who may come in and who they are: hosts, origins, sessions, the admin token, OpenID Connect."""
