"""The benchmark of messages in device memory."""
