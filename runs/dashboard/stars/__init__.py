"""The jobs that a person wants at hand."""
