"""How do programs built with other frameworks find passages here? Over HTTP, with a key."""
