"""`dunnage report`: a page and a short text from the JSON that the library writes."""
