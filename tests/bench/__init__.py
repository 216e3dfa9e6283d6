"""Speed, always as a ratio within one run. ``python3 dev.py bench``; never part of the tests."""
