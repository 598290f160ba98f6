"""How is it used over HTTP? `gate.py` lets requests in, `api/` answers them."""
