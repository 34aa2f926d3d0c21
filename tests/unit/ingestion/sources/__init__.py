"""Tests of folders and uploads as sources."""
