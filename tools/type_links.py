"""The links by which type checkers find the parts of an editable install: they cannot follow the package's path.

Hatch runs this when it builds. The links lie in `build/types`, which is on the path of an editable install.
"""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class TypeLinks(BuildHookInterface):
    """Makes the links anew for an editable install, and does nothing for a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Link each part, and the package's own names as a stub, which Python does not read."""
        if version != "editable":
            return
        folder, up = Path(self.root, "build", "types", "caesura"), Path("..", "..", "..")
        folder.mkdir(parents=True, exist_ok=True)
        places = {"__init__.pyi": up / "src" / "caesura" / "__init__.py", **{part: up / part for part in
                                                                             ("hw", "sim", "software")}}
        for name, place in places.items():
            (folder / name).unlink(missing_ok=True)
            (folder / name).symlink_to(place)
