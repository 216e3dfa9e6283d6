"""From a conversation to an answer: prompt, sampling, passes over the model, text.

Owns what happens between messages and tokens. Knows nothing of windows, servers or where weights come from.
"""
