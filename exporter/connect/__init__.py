"""What it means: Kafka Connect's wording, events and the fold over them. No I/O, no clock."""
