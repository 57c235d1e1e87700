"""Draws the timing diagrams of docs/waves: each `.json` (WaveDrom) becomes an `.svg` beside it."""

import sys
from pathlib import Path
from xml.etree import ElementTree

import wavedrom

WAVES = Path(__file__).resolve().parents[1] / "docs" / "waves"
SVG = "http://www.w3.org/2000/svg"
ElementTree.register_namespace("", SVG)
ElementTree.register_namespace("xlink", "http://www.w3.org/1999/xlink")


def drawn(source: Path) -> str:
    """Return the picture of a diagram, without the bricks of waves that it has not."""
    root = ElementTree.fromstring(wavedrom.render(source.read_text()).tostring())
    used = {value[1:] for element in root.iter() for name, value in element.attrib.items() if name.endswith("href")}
    for definitions in root.iter(f"{{{SVG}}}defs"):
        for brick in list(definitions):
            if brick.tag == f"{{{SVG}}}g" and brick.get("id") not in used:
                definitions.remove(brick)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def main() -> None:
    """Draw all."""
    for source in sorted(WAVES.glob("*.json")):
        source.with_suffix(".svg").write_text(drawn(source))


if __name__ == "__main__":
    sys.exit(main())
