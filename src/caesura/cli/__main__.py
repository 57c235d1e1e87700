"""``python -m caesura.cli``."""

from . import main

main(prog_name="caesura")
