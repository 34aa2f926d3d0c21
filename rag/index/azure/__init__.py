"""The index in Azure AI Search: the only folder that knows its SDK."""
