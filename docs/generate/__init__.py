"""What is generated for the documentation: reference pages, tables of figures, pictures. `python -m docs.generate`."""
