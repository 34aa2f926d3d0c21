"""Implement the index in Azure AI Search; the only package that imports its SDK."""
