"""What Frontdesk is deployed with, read as its own tools would read it."""
