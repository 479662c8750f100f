"""Workers' logs: files, layouts, records."""
