"""The pack benchmark on host memory."""
