"""Dashboards and alert rules: rendered and checked."""
