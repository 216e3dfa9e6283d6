"""Models on disk: recognising a source, planning, cutting, describing, verifying and repairing a split."""
