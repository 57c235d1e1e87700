"""What tests share. Tests find it as `support`: pytest has `tests` on the path (`pyproject.toml`)."""
