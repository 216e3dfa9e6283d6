"""What `dev.py package` has built, installed and used as people would."""
