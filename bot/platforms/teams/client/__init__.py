"""Call the Teams connector API: authenticated, rate-limited, retried where that is safe."""
