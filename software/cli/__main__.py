"""``python -m caesura.software.cli``."""

from . import main

main(prog_name="caesura")
