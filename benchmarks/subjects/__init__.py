"""What is measured, a file each: its name is the subject's, and `measure` prints tables with method and aims."""
