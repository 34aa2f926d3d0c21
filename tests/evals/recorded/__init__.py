"""A language model whose replies were recorded: kept by set, replayed over HTTP."""
