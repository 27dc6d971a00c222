"""The timeline in a real Chromium: what is seen, searched, followed and marked, and the address that shows it again."""

import json
from urllib.parse import parse_qs, urlsplit
from urllib.request import urlopen

import pytest
from playwright.sync_api import Browser, Page, expect

from perflab.dashboards import theme

from .conftest import Watched, every_size

pytestmark = pytest.mark.browser


def asked(page: Page) -> dict[str, str]:
    """The view that the address speaks of, once it is written."""
    # What was done last is drawn in the next frame, which is when the timeline says that it is not settled.
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    page.wait_for_function("() => document.querySelector('[data-settled]')")
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


def stretch(page: Page) -> tuple[float, float]:
    said = asked(page)
    return float(said["start"]), float(said["end"])


def detail(page: Page, number: str) -> dict[str, object]:
    """What the server says about a slice of the page's trace."""
    parts = urlsplit(page.url)
    with urlopen(f"{parts.scheme}://{parts.netloc}/api/v1{parts.path}/timeline/slices/{number}") as answer:
        found: dict[str, object] = json.load(answer)
    return found


def pixels(page: Page) -> str:
    picture: str = page.evaluate("document.querySelector('canvas.slices').toDataURL()")
    return picture


def name_of(page: Page) -> str:
    return page.locator(".slice h3").inner_text()


@every_size
def test_op_is_found_shown_followed_and_shared(lab: str, watched: Watched) -> None:
    page = watched.visit(f"{lab}/traces/1")
    whole = stretch_of_window(page)
    page.keyboard.press("Tab")
    page.locator(".rows").focus()
    page.keyboard.press("/")
    page.keyboard.type("TANH")
    expect(page.locator(".find output")).to_have_text("21 of 30")  # the first of the step that is shown
    page.keyboard.press("Enter")
    expect(page.locator(".find output")).to_have_text("22 of 30")
    page.keyboard.press("Shift+Enter")
    expect(page.locator(".find output")).to_have_text("21 of 30")
    expect(page.locator(".slice h3")).to_have_text("tanh")
    page.keyboard.press("Escape")
    page.keyboard.press("f")
    page.keyboard.press("w")
    watched.settle()
    said = asked(page)
    forward = detail(page, said["slice"])["slice"]
    assert isinstance(forward, dict)
    start, end = stretch(page)
    assert end - start == pytest.approx(forward["duration"], rel=0.02)
    assert start <= forward["start"] + forward["duration"] / 2 <= end
    assert end - start < whole[1] - whole[0]

    page.keyboard.press("]")
    expect(page.locator(".slice h3")).to_have_text("TanhBackward")
    watched.settle()
    shared = asked(page)
    assert shared["slice"] != said["slice"]
    followed = detail(page, shared["slice"])["slice"]
    assert isinstance(followed, dict)
    assert float(shared["start"]) <= followed["start"] <= float(shared["end"])
    page.keyboard.press("[")
    expect(page.locator(".slice h3")).to_have_text("tanh")
    page.keyboard.press("]")
    expect(page.locator(".slice h3")).to_have_text("TanhBackward")
    watched.settle()

    address, drawn = page.url, pixels(page)
    other = Watched(page.context.new_page())
    other.visit(address)
    expect(other.page.locator(".slice h3")).to_have_text("TanhBackward")
    expect(other.page.get_by_label("Find slices by name")).to_have_value("TANH")
    other.settle()
    assert asked(other.page) == asked(page)
    assert pixels(other.page) == drawn
    assert other.faults == []
    other.page.close()


def stretch_of_window(page: Page) -> tuple[int, int]:
    data = json.loads(page.locator("#timeline-data").text_content() or "")
    return data["window"]["start"], data["window"]["end"]


def test_keys_and_buttons_move_the_view(lab: str, watched: Watched) -> None:
    page = watched.visit(f"{lab}/traces/1")
    start, end = stretch_of_window(page)
    page.locator(".rows").focus()
    page.keyboard.press("w")
    assert stretch(page) == pytest.approx((start + (end - start) / 4, end - (end - start) / 4), abs=2)
    inside = stretch(page)
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("d")
    assert stretch(page) == pytest.approx(inside, abs=2)
    page.get_by_role("button", name="Zoom out").click()
    assert stretch(page) == pytest.approx((start, end), abs=3)
    page.keyboard.press("0")
    length = json.loads(page.locator("#timeline-data").text_content() or "")["length"]
    assert stretch(page) == (0, length)
    for _ in range(40):
        page.keyboard.press("w")
    low, high = stretch(page)
    assert 0 < high - low <= 21


def test_mouse_drags_zooms_selects_and_marks(lab: str, watched: Watched) -> None:
    page = watched.visit(f"{lab}/traces/1")
    canvas = page.locator("canvas.slices")
    box = canvas.bounding_box()
    assert box is not None
    start, end = stretch_of_window(page)
    middle = (box["x"] + box["width"] / 2, box["y"] + 12)
    page.mouse.move(*middle)
    expect(page.locator(".tip")).to_contain_text("ProfilerStep#")
    page.keyboard.down("Control")
    page.mouse.wheel(0, -400)
    page.keyboard.up("Control")
    low, high = stretch(page)
    assert (low + high) / 2 == pytest.approx((start + end) / 2, abs=(end - start) / 100)
    assert high - low < (end - start) / 2
    page.mouse.down()
    page.mouse.move(middle[0] - 100, middle[1], steps=4)
    page.mouse.up()
    dragged = stretch(page)
    assert dragged[0] - low == pytest.approx(100 / box["width"] * (high - low), rel=0.05)
    assert page.locator(".slice h3").count() == 0
    page.mouse.click(*middle)
    expect(page.locator(".slice h3")).to_contain_text("ProfilerStep#")
    page.keyboard.down("Shift")
    page.mouse.down()
    page.mouse.move(middle[0] + 60, box["y"] + 60, steps=4)
    page.mouse.up()
    page.keyboard.up("Shift")
    expect(page.locator(".totals h3")).to_contain_text("slices of")
    said = asked(page)
    assert said["marked"].count("~") == 2
    page.keyboard.press("Escape")
    expect(page.locator(".totals h3")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(page.locator(".slice h3")).to_have_count(0)


def test_all_that_is_shown_is_a_table_too(lab: str, watched: Watched) -> None:
    page = watched.visit(f"{lab}/traces/1")
    page.get_by_role("button", name="all", exact=True).click()
    watched.settle()
    page.locator(".rows").focus()
    page.keyboard.press("t")
    table = page.locator(".totals table")
    expect(table).to_be_visible()
    names = table.locator("tbody td:first-child").all_inner_texts()
    assert "matmul_f32" in names and len(names) == len(set(names))
    own = [float(cell.get_attribute("data-value") or "nan") for cell in table.locator("tbody td:nth-child(4)").all()]
    assert own == sorted(own, reverse=True)
    table.get_by_role("button", name="count").click()
    counts = [int(cell.get_attribute("data-value") or "-1") for cell in table.locator("tbody td:nth-child(2)").all()]
    assert counts == sorted(counts, reverse=True)
    address = page.url
    page.goto(address)
    expect(page.locator(".totals table")).to_be_visible()


def test_band_folds_and_the_address_says_so(lab: str, watched: Watched) -> None:
    page = watched.visit(f"{lab}/traces/1")
    band = page.get_by_role("button", name="main", exact=True)
    before = page.locator(".rows .content").bounding_box()
    band.press("Enter")
    expect(band).to_have_attribute("aria-expanded", "false")
    after = page.locator(".rows .content").bounding_box()
    assert before is not None and after is not None
    assert after["height"] == before["height"] - 4 * 18
    assert asked(page)["folded"] == "0"


def test_the_name_of_a_band_stays_in_sight_while_its_rows_are(lab: str, watched: Watched) -> None:
    page = watched.visit(f"{lab}/traces/1")
    page.add_style_tag(content=".timeline .rows { height: 60px !important; }")
    top = "() => document.querySelector('.band-name').getBoundingClientRect().top"
    before = page.evaluate(top)
    page.evaluate("() => (document.querySelector('.rows').scrollTop = 40)")
    rows = page.locator(".rows").bounding_box()
    assert rows is not None
    assert rows["y"] <= page.evaluate(top) <= before


def test_bands_are_pinned_and_processes_closed(lab: str, watched: Watched) -> None:
    page = watched.visit(f"{lab}/traces/1")
    kept = page.locator(".pinned")
    expect(kept).to_be_hidden()
    page.get_by_role("button", name="Pin main: GIL").press("Enter")
    expect(kept).to_be_visible()
    expect(kept.locator(".band")).to_have_text(["main: GIL"])
    assert asked(page)["pinned"] == "1"
    drawn = "() => document.querySelector('.pinned canvas').toDataURL()"
    watched.settle()
    picture = page.evaluate(drawn)
    watched.visit(page.url)
    expect(kept.locator(".band")).to_have_text(["main: GIL"])
    assert page.evaluate(drawn) == picture
    kept.get_by_role("button", name="Pin main: GIL").press("Enter")
    expect(kept).to_be_hidden()
    assert "pinned" not in asked(page)


def test_marks_are_kept_in_the_address(lab: str, watched: Watched) -> None:
    page = watched.visit(f"{lab}/traces/1?find=adamw")
    expect(page.locator(".slice h3")).to_have_text("adamw")
    watched.settle()
    marks = page.locator(".marks li")
    page.locator(".rows").focus()
    page.keyboard.press("m")
    expect(marks).to_have_count(1)
    own = detail(page, asked(page)["slice"])["slice"]
    assert isinstance(own, dict)
    assert asked(page)["marks"] == f"{own['start']}~{own['start'] + own['duration']}"
    page.keyboard.press("Escape")
    page.keyboard.press("0")
    page.keyboard.press("m")  # nothing is selected: the middle of what is shown
    expect(marks).to_have_count(2)
    length = json.loads(page.locator("#timeline-data").text_content() or "")["length"]
    said = asked(page)["marks"].split(".")
    assert len(said) == 2 and abs(min(int(each) for each in said if "~" not in each) - length / 2) <= 1
    lasting = marks.filter(has_text="lasts")
    expect(lasting).to_have_count(1)
    page.keyboard.press("n")
    start, end = stretch(page)
    assert end - start == pytest.approx(2 * own["duration"], rel=0.01)
    page.keyboard.press("Shift+N")
    low, high = stretch(page)
    assert ((low + high) / 2, high - low) == pytest.approx((length / 2, end - start), rel=0.01)
    lasting.get_by_role("button").first.click()
    assert stretch(page) == pytest.approx((start, end), abs=1)
    watched.visit(page.url)
    expect(marks).to_have_count(2)
    page.get_by_role("button", name="Forget mark 2").click()
    page.get_by_role("button", name="Forget mark 1").click()
    expect(page.locator(".marks")).to_be_hidden()
    assert "marks" not in asked(page)


def test_a_drag_from_a_free_place_sums_a_stretch(lab: str, watched: Watched) -> None:
    page = watched.visit(f"{lab}/traces/1")
    before = stretch_of_window(page)
    box = page.locator("canvas.slices").bounding_box()
    assert box is not None
    free = box["y"] + box["height"] - 2  # below the last counter
    page.mouse.move(box["x"] + 100, free)
    page.mouse.down()
    page.mouse.move(box["x"] + 300, box["y"] + 8, steps=4)
    page.mouse.up()
    expect(page.locator(".totals h3")).to_contain_text("slices of")
    assert stretch(page) == pytest.approx(before, abs=1)
    start, end = (int(each) for each in asked(page)["marked"].split("~")[:2])
    scale = (before[1] - before[0]) / box["width"]
    assert (start - before[0], end - before[0]) == pytest.approx((100 * scale, 300 * scale), rel=0.02)


# Where pixels of a colour are: how many rows and columns of the canvas have one.
COLOURED = """(colour) => {
  const canvas = document.querySelector("canvas.slices");
  const { data, width } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const wanted = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  const places = [];
  for (let at = 0; at < data.length; at += 4) {
    if (wanted.every((channel, place) => data[at + place] === channel)) places.push(at / 4);
  }
  const count = (of) => new Set(places.map(of)).size;
  return [count((at) => Math.floor(at / width)), count((at) => at % width)];
}"""


def test_slices_too_narrow_for_a_box_are_seen(lab: str, watched: Watched) -> None:
    page = watched.visit(f"{lab}/traces/1")
    page.locator(".rows").press("0")
    asked(page)
    rows, columns = page.evaluate(COLOURED, theme.slice_colour(theme.category("gil"), "GIL held: hook"))
    # 30 waits of 7 us, each before 9 us of holding, in 16 ms: a pixel or two each, as high as the row
    assert rows == 17
    assert 24 <= columns <= 90


def test_an_address_with_a_name_finds_its_slices(lab: str, watched: Watched) -> None:
    page = watched.visit(f"{lab}/traces/1?find=adamw")
    expect(page.locator(".slice h3")).to_have_text("adamw")
    assert asked(page)["find"] == "adamw"


def test_an_address_with_a_slice_alone_shows_it(lab: str, watched: Watched) -> None:
    page = watched.visit(f"{lab}/traces/1?slice=40")
    found = detail(page, "40")["slice"]
    assert isinstance(found, dict)
    expect(page.locator(".slice h3")).to_have_text(found["name"])
    start, end = stretch(page)
    assert start <= found["start"] and found["start"] + found["duration"] <= end
    assert end - start == pytest.approx(2 * found["duration"], rel=0.01)


def test_dark_timeline_is_dark(lab: str, browser: Browser) -> None:
    context = browser.new_context(color_scheme="dark")
    page = Watched(context.new_page()).visit(f"{lab}/traces/1")
    light = page.evaluate("getComputedStyle(document.querySelector('.timeline')).backgroundColor")
    assert light == "rgb(21, 26, 32)"
    before = pixels(page)
    page.emulate_media(color_scheme="light")
    page.wait_for_function("before => document.querySelector('canvas.slices').toDataURL() !== before", arg=before)
    context.close()


def test_two_fingers_zoom_and_one_moves(lab: str, browser: Browser) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    watched = Watched(context.new_page())
    page = watched.visit(f"{lab}/traces/1")
    start, end = stretch_of_window(page)
    page.locator("canvas.slices").scroll_into_view_if_needed()
    box = page.locator("canvas.slices").bounding_box()
    assert box is not None
    touch = context.new_cdp_session(page)

    def fingers(kind: str, *places: float) -> None:
        points = [{"x": box["x"] + x, "y": box["y"] + 40, "id": number} for number, x in enumerate(places)]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    middle = box["width"] / 2
    fingers("touchStart", middle - 40)
    fingers("touchStart", middle - 40, middle + 40)
    for away in (55, 70, 80):
        fingers("touchMove", middle - away, middle + away)
    fingers("touchEnd")
    low, high = stretch(page)
    assert high - low == pytest.approx((end - start) / 2, rel=0.1)
    assert (low + high) / 2 == pytest.approx((start + end) / 2, rel=0.02)
    fingers("touchStart", middle)
    for x in (10, 30, 60):
        fingers("touchMove", middle - x)
    fingers("touchEnd")
    moved = stretch(page)
    assert moved[0] > low and moved[1] - moved[0] == pytest.approx(high - low, rel=0.01)
    assert watched.faults == []
    context.close()


def test_a_server_that_is_gone_is_said_and_forgotten(lab: str, browser: Browser) -> None:
    page = browser.new_page()
    Watched(page).visit(f"{lab}/traces/1")
    page.route("**/timeline?*", lambda route: route.abort("connectionrefused"))
    for _ in range(4):
        page.locator(".rows").press("w")
    expect(page.locator(".fault")).to_contain_text("The timeline could not be read")
    page.unroute("**/timeline?*")
    page.locator(".rows").press("d")
    expect(page.locator(".fault")).to_have_text("")
    page.close()
