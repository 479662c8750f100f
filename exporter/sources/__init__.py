"""Where observations come from: JMX, logs, REST. A source knows nothing of metrics."""
