"""First run and "add a model": from a welcome to a chat. ``flow`` and ``offers`` decide, without Qt; pages show."""
