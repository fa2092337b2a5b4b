"""What graphdoctor says and measures on a GPU: one command, no network."""
