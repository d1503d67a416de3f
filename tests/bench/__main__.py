"""`python -m tests.bench`: the measurements, one after the other."""

from __future__ import annotations

from tests.bench import burst

if __name__ == "__main__":
    burst.main()
