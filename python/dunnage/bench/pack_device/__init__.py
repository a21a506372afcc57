"""The pack benchmark on device memory."""
