"""Turn an admitted message into an outcome: route it, search, compose, gate and respond."""
