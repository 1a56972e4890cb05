"""Runs an example several times in one process: importing a framework takes seconds.

The standard library alone. Reads from stdin {"script": path, "plays": [{"says": [...], "environment": {...},
"patch": source}]}; writes [{"printed": text, "failed": traceback or null}] to stdout. A patch is run when
`backend` is imported and the example is not begun yet: it takes away what a careless backend would forget.
"""

import contextlib
import io
import json
import os
import runpy
import sys
import traceback

sys.path.insert(0, "examples")
work, beginning = json.load(sys.stdin), dict(os.environ)
results = []
for play in work["plays"]:
    os.environ.clear()
    os.environ |= beginning | play["environment"]
    sys.argv = [work["script"], *play["says"]]
    sys.modules.pop("backend", None)
    printed, failed = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        try:
            exec(play["patch"] and "import backend\n" + play["patch"], {})
            runpy.run_path(work["script"], run_name="__main__")
        except Exception:
            failed = traceback.format_exc()
    results.append({"printed": printed.getvalue(), "failed": failed})
json.dump(results, sys.stdout)
