"""Computing on an NVIDIA card: its driver, the runtime that fits it, downloading, trying and removing that."""
