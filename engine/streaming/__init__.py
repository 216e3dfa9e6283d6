"""Bringing blocks to the processor just before they run: the plan, the slots, the hooks."""
