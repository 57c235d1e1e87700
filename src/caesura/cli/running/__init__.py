"""A run as ``caesura run`` and ``caesura preempt`` make it: its options, its plan, and the run itself."""
