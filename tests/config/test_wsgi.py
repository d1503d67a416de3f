from __future__ import annotations

import os
import subprocess
import sys

from tests.conftest import ROOT

HOW_MANY = "import gc, config.wsgi; print(gc.get_freeze_count())"


def test_what_the_web_has_loaded_is_not_looked_through_by_each_collection(
    database_server: None,
) -> None:
    asked = [sys.executable, "-c", HOW_MANY]
    told = subprocess.run(
        asked, cwd=ROOT, env=os.environ, check=True, capture_output=True, text=True
    )
    assert int(told.stdout.splitlines()[-1]) > 50_000
