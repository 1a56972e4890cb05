"""What needs an account, and what its own documentation says of what is asked here, read in December 2026."""

NOT_RUN = {
    "Amazon Bedrock AgentCore Memory": (
        "needs an AWS account. A managed service that takes preferences out of conversations by itself"
        " ([strategies](https://docs.aws.amazon.com/bedrock-agentcore/latest/devguide/long-term-configuring-built-in-strategies.html)),"
        " finds them by meaning, and"
        " [streams](https://docs.aws.amazon.com/bedrock-agentcore/latest/devguide/memory-record-streaming.html)"
        " every change of a record. An update takes up to 100 records and says which failed; among its"
        " [parameters](https://docs.aws.amazon.com/bedrock-agentcore/latest/APIReference/API_BatchUpdateMemoryRecords.html)"
        " is no condition on the record as it is, and no lock."
    ),
    "Claude's memory stores": (
        "need an account with Anthropic or AWS. An update can carry the SHA-256 of the text that it was made"
        " from, and is refused with 409 if that is no longer so"
        " ([API](https://platform.claude.com/docs/en/api/beta/memory_stores/memories)); every change is kept"
        " as a version, and a whole store can be given to an agent for reading only"
        " ([guide](https://platform.claude.com/docs/en/managed-agents/memory)). By that, races and history"
        " would hold; a lock of a single memory is not described there."
    ),
    "Google's Memory Bank": (
        "needs a Google Cloud account. It takes memories out of conversations by itself, keeps every revision"
        " of a memory, and can roll back to one ([revisions]"
        "(https://docs.cloud.google.com/gemini-enterprise-agent-platform/scale/memory-bank/revisions))."
    ),
    "Zep": (
        "needs an API key. Facts are taken out of conversations and have times from and until which they hold"
        " ([facts](https://help.getzep.com/facts)); an"
        " [update](https://help.getzep.com/sdk-reference/graph/edge/update) of a fact takes no condition."
    ),
    "mem0's platform": (
        "needs an API key. Beyond what was run here, it updates up to 1,000 memories in a call, and a memory"
        " can be made immutable: then it can only be deleted and added again"
        " ([update](https://docs.mem0.ai/core-concepts/memory-operations/update))."
    ),
}
