"""A preference store for conversational agents: rules, writes and doors of the three Lambda functions.

Doors import tools and the repository, the repository imports the rules, the rules import the model;
nothing points back. Data comes in at `agent` and `api`, a rule lives in `rules`, `repository` stores.
"""
