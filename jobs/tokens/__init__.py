"""API tokens, and the page on which they are made and revoked."""
