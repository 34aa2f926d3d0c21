"""The people's pages: what waits for them, what was asked, what is indexed, how it goes."""
