"""A fake Azure AI Search: its REST contract over real HTTP, for tests.

Built from what the vendor's client sends and its documentation says; never compared with the live
service. What is only like the real thing: English analysis (regular words), scores of fuzzy terms,
vector search (exact, no graph), the semantic ranker (synthetic). What is not simulated answers 501
and says so.
"""
