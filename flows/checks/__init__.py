"""What `pivotline doctor` looks at, a module a thing: each yields findings and changes nothing."""
