"""Tests of the Confluence client, over HTTP."""
