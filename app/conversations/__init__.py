"""What the user and the models wrote: conversations on disk, and their Qt models."""
