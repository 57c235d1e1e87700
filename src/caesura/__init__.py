"""Caesura: an open, synthesizable, preemptible SIMT core and its software stack."""
