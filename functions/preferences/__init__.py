"""A preference store for conversational agents: the code of three Lambda functions.

`agent`, `api` and `history` hold their handlers. Handlers import tools and the repository, the repository
imports the rules, the rules import the model. No import points the other way.
"""

import gc
import os

if "AWS_LAMBDA_RUNTIME_API" in os.environ:
    # All that start-up makes is there to stay: to look through it for garbage again and again only takes
    # time. `repository.client`, which has the last big part, switches it on again.
    gc.disable()
    # pydantic looks through the metadata of all that is installed for plugins. There is none in the package.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
