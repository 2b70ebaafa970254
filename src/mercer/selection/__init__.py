"""Choosing machines and their parameters: many fits on the same data, for little more than the price of one."""
