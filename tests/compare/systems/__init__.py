"""The adapters: a module and a class each, imported only in the environment that has what they need."""

SYSTEMS = {
    "ours": ("ours", "InProcess"),
    "ours-http": ("ours", "OverHttp"),
    "json": ("json_column", "JsonColumn"),
    "json-version": ("json_column", "VersionedJsonColumn"),
    "langgraph-memory": ("langgraph", "MemoryStore"),
    "langgraph-sqlite": ("langgraph", "SqlStore"),
    "langmem": ("langmem", "LangMem"),
    "mem0": ("mem0", "Mem0"),
    "agno": ("agno", "Agno"),
    "letta": ("letta", "LettaServer"),
    "memory-tool": ("memory_tool", "MemoryTool"),
    "mcp-memory": ("mcp_memory", "McpMemory"),
}

ENVIRONMENTS = {
    "langgraph-memory": ".venv-peer",
    "langgraph-sqlite": ".venv-peer",
    "langmem": ".venv-compare-langmem",
    "mem0": ".venv-compare-mem0",
    "agno": ".venv-compare-agno",
    "letta": ".venv-compare-letta",
    "memory-tool": ".venv-compare-anthropic",
}
"""What is not here runs in the project's own environment."""

SHORT = ("ours", "ours-http", "json", "json-version", "langgraph-memory", "langgraph-sqlite")
"""What installs in seconds."""
