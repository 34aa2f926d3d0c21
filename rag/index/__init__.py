"""Implement the Index port: in one SQLite file, and in Azure AI Search."""
