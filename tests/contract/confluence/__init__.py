"""What a Confluence must pass: tests of the local one."""
