"""Tests of the whole program: servers, browsers, infrastructure files."""
