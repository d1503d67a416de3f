"""Hand run ids to the broker in batches, in Celery's own message format. What is said to each
broker has a module of its own, and one chooses among them."""
