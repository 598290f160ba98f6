"""How is a PDF read?"""

from vademecum.adapters.parsers.pdf.read import parse_pdf

__all__ = ["parse_pdf"]
