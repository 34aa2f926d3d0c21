"""The board: pages for those who answer colleagues and for those who run Frontdesk."""
