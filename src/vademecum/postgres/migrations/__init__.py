"""Numbered SQL files, applied once and in order; each is frozen by its checksum when applied."""
