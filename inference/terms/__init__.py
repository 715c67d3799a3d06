"""The names that are likely to be said: which they are, how they sound, and where they were misheard."""
