"""How can code against our ports be tested? Public fakes and one conformance suite a port."""
