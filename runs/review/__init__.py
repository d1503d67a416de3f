"""Review: runs that nobody can prove anything of, and what people decide about them."""
