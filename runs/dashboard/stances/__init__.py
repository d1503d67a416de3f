"""How jobs stand: in one word, in numbers, and as the outcomes of their last runs."""
