"""The command groups of `pivotline`."""
