"""Why an answer, or none: the record in a colleague's words, for whatever platform shows it."""
