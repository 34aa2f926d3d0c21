"""Receive activities over HTTP: authenticate, dispatch to listeners, acknowledge."""
