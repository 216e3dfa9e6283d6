"""The models on this computer: what they take, how fast they are, and what can be done with each."""
