"""A Confluence that runs here: one site in memory, served as Cloud or as Data Center.

    site = Site()                                    # or wiki_site(pages=400, seed=7)
    site.add_space("IT", groups=["staff"])
    async with LocalConfluence(site, "cloud").serving() as server:
        ...                                          # CONFLUENCE_URL is server.url
        server.faults.fail("page", too_many("2"))    # or go_blind, break_expansion, on
    assert site.unexpected == []                     # nothing was asked that does not exist
    assert site.may_read("rita", page.id)            # what the product has to agree with

A token is a person: ``site.people["rita"].token``. Cloud takes it with the e-mail address at
``url``, or as Bearer at ``gateway``, Data Center as Bearer. ``RandomActivity.of(site, seed)`` then
``happens()`` makes a random change. ``server.requests`` and ``server.count(kind)`` say what was
asked for.
"""
