"""The board: web pages for experts and admins."""
