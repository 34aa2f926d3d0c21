"""Chat models behind any server that speaks OpenAI's chat completions."""
