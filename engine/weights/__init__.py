"""Weight bytes on their way from files into memory."""
