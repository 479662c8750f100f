"""Workers' MBeans over JMX."""
