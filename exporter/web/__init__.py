"""The HTTP server: metrics, health, status page."""
