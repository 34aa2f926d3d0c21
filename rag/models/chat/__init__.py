"""Chat models on any server with OpenAI's chat completions API."""
