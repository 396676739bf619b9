"""Any model of Vivant behind the chat-completions protocol, for other tools: `vivant serve MODEL`."""
