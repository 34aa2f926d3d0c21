"""Cases that every chat platform must pass, from the request to what a person sees."""
