"""A simulated worker pair, watchable without Kafka."""
