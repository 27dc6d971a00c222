"""The style sheets: every page has all of them, so that a class of one must not be another's too."""

import re
from collections import defaultdict
from pathlib import Path

STATIC = Path(__file__).parents[2] / "dashboards" / "static"


def test_a_class_that_stands_alone_is_of_one_file() -> None:
    files = defaultdict(set)
    for sheet in STATIC.rglob("*.css"):
        text = re.sub(r"/\*.*?\*/", "", sheet.read_text(), flags=re.DOTALL)
        for selectors in re.findall(
            r"^([^\s{}@][^{}]*)\{", text, flags=re.MULTILINE
        ):  # those for small screens are indented
            for selector in selectors.split(","):
                if re.fullmatch(r"\.[\w-]+", selector.strip()):
                    files[selector.strip()].add(sheet.name)
    assert len(files) > 20
    assert {name: sheets for name, sheets in files.items() if len(sheets) > 1} == {}
