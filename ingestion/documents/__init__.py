"""Convert files and markup to documents of blocks: headings, paragraphs, lists, tables, code."""
