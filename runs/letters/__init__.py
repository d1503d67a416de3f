"""Dead letters: in groups of those that died alike; replayed or discarded, one or many."""
