"""Convert Confluence's storage format (XHTML with ``ac:`` and ``ri:`` elements) to blocks. Pure.

``convert.needs(storage, space)`` returns a page's references; the caller resolves them into a
``writer.Resolve``; ``convert.convert(storage, resolve)`` returns the blocks.
"""
