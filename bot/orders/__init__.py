"""What people order by command in a chat: reindexing, status, settings, help; for all platforms."""
