"""Confluence's storage format (XHTML with ``ac:`` and ``ri:`` elements) to blocks. Pure.

``convert.needs(storage, space)`` says what a page refers to; who calls looks it up into a
``types.Resolve``; ``convert.convert(storage, resolve)`` gives the blocks.
"""
