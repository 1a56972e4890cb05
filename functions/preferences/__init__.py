"""A preference store for conversational agents: rules, writes and doors of the three Lambda functions.

Doors import tools and the repository, the repository imports the rules, the rules import the model;
nothing points back. Data comes in at `agent` and `api`, a rule lives in `rules`, `repository` stores.
"""

import gc
import os

if "AWS_LAMBDA_RUNTIME_API" in os.environ:
    # All that start-up makes is there to stay: to look through it for garbage again and again only takes
    # time. `repository.client`, which has the last big part, switches it on again.
    gc.disable()
