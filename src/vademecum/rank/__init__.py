"""How are candidates scored and ordered? Pure functions from numbers to numbers."""
