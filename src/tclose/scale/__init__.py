"""One plan, many shards: tables beyond one machine's memory, through its disk or on a cluster."""
