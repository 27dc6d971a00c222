"""The block map: every byte of a segment has its place in the bar, and its colour."""

import xml.etree.ElementTree as ET

import pytest

from perflab.dashboards import blockmap, theme
from perflab.profiler.memory_snapshot import Block, Segment

SVG = "{http://www.w3.org/2000/svg}"
MIB = 1 << 20


def segment(*blocks: tuple[int, int, str], pool: str = "large", address: int = 0, stream: int = 0) -> Segment:
    """From bytes, bytes asked for, and state of each block."""
    at, made = address, []
    for size, asked, state in blocks:
        made.append(Block(at, size, asked, state, "matmul" if asked else ""))  # type: ignore[arg-type]
        at += size
    return Segment(0, address, at - address, stream, pool, False, made)


def drawn(*segments: Segment) -> list[tuple[str, list[tuple[float, float, str]]]]:
    """For each block its title, and x, width and colour of its parts."""
    root = ET.fromstring(blockmap.svg(segments))

    def part(rect: ET.Element) -> tuple[float, float, str]:
        return float(rect.get("x", "")), float(rect.get("width", "")), rect.get("fill", "")

    return [
        (
            group.find(f"{SVG}title").text or "",  # type: ignore[union-attr]
            [part(rect) for rect in group.iter(f"{SVG}rect")],
        )
        for group in root.iter(f"{SVG}g")
    ]


def texts(*segments: Segment) -> list[str]:
    return [text.text or "" for text in ET.fromstring(blockmap.svg(segments)).iter(f"{SVG}text")]


def test_the_bar_of_a_segment_is_its_blocks() -> None:
    used, awaited, free = drawn(
        segment((4 * MIB, 3 * MIB, "allocated"), (2 * MIB, 2 * MIB, "awaiting"), (10 * MIB, 0, "free"))
    )
    assert used[0] == "matmul\n4.00 MiB in use, 3.00 MiB asked for"
    (x, whole, rounding), (asked_x, asked, colour) = used[1]
    assert asked == pytest.approx(whole * 3 / 4, abs=0.01) and asked_x == x
    assert (rounding, colour) == (blockmap.ROUNDING, theme.slice_colour(theme.category("cpu_op"), "matmul"))
    assert awaited[0] == "matmul\n2.00 MiB freed, awaited by another stream"
    assert awaited[1][0][0] == pytest.approx(x + whole, abs=0.02)
    assert awaited[1][1][2] == theme.slice_colour(theme.category("kernel"), "matmul")
    assert free[0] == "block\n10.0 MiB free"
    (free_x, free_width, _), = free[1]  # fmt: skip
    assert free_x + free_width == pytest.approx(blockmap.WIDTH - 14, abs=0.02)
    assert whole + awaited[1][0][1] + free_width == pytest.approx(free_x + free_width - x, abs=0.03)


def test_narrow_neighbours_are_one() -> None:
    tiny = [(512, 512, "allocated")] * 100
    titles = [title for title, _ in drawn(segment(*tiny, (8 * MIB, 0, "free")))]
    assert titles == ["100 blocks\n50.0 KiB in use", "block\n8.00 MiB free"]


def test_each_pool_has_its_panel_and_its_scale() -> None:
    small = segment((2 * MIB, 0, "free"), pool="small")
    large = segment((20 * MIB, 0, "free"))
    widths = [parts[0][1] for _, parts in drawn(small, large)]
    assert widths[0] == widths[1]
    assert [text for text in texts(small, large) if "blocks" in text] == ["small blocks", "large blocks"]


def test_what_is_torn_comes_first_and_what_is_left_out_is_summed_up() -> None:
    whole = [segment((20 * MIB, 0, "free"), address=place) for place in range(30)]
    torn = segment((MIB, MIB, "allocated"), (4 * MIB, 0, "free"), stream=3)
    said = texts(*whole, torn)
    bars = [text for text in said if ", stream " in text]
    assert bars[0] == "5.00 MiB, stream 3"
    assert len(bars) == blockmap.ROW_LIMIT
    assert said[-1] == "and 7 segments, 140 MiB reserved, 0 B in use (0.0 %)"


def test_names_are_text() -> None:
    evil = Segment(0, 0, 8, 0, "large", False, [Block(0, 8, 8, "allocated", "<script>&")])
    assert drawn(evil)[0][0].startswith("<script>&\n")
    assert "<script>" not in blockmap.svg([evil])


def test_nothing_at_all() -> None:
    assert blockmap.summary([]) == "0 segments, 0 B reserved, 0 B in use (0.0 %)"
    assert drawn() == []


def test_free_pieces_are_summed_up() -> None:
    torn = segment((MIB, 0, "free"), (MIB, MIB, "allocated"), (2 * MIB, 0, "free"))
    assert blockmap.fragments([torn, segment((MIB, MIB, "allocated"))]) == (
        "3.00 MiB (60.0 %) of where blocks were is free, in 2 pieces; the largest is 2.00 MiB"
    )
    assert blockmap.fragments([segment((MIB, MIB, "allocated"))]) == "nothing is free between the blocks"
