"""The metric table and its rendering."""
