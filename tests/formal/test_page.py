"""docs/formal.md lists what is proved, with its status, and nothing else."""

from support.checkout import ROOT
from support.formal.properties import PROPERTIES
from support.formal.table import property_table

PAGE = ROOT / "docs" / "formal.md"


def test_the_page_lists_each_property_with_its_status():
    table = property_table(PROPERTIES)
    assert table in PAGE.read_text(), f"put this into docs/formal.md:\n{table}"
