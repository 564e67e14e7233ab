"""`python -m hermes` is the command `hermes`."""

from hermes.cli import main

main()
