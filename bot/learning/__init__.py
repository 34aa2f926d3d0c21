"""What use teaches: gaps of the wiki, reviewed answers, labels, corrections, digests, drafts."""
