"""How activities arrive over HTTP: authenticated, dispatched to listeners, acknowledged."""
