"""Receipts: why a run fired and what became of it, signed, so that it can be verified elsewhere."""
