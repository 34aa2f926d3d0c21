"""Microsoft Teams: messages in, replies out; the only folder that imports botbuilder."""
