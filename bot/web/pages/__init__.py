"""What all web pages share: the layout, static files, and untrusted text as safe HTML."""
