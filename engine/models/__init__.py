"""What transformers knows of a model: its empty skeleton, its structure, its checkpoint conversion."""
