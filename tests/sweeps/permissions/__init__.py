"""Generated companies in which nothing shows to those who may not read it, on every view."""
