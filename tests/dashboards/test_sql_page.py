"""The SQL page in a real Chromium: asked by keyboard and by ready questions, shown as table, chart, CSV and link."""

import csv
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from .conftest import Watched, every_size

pytestmark = pytest.mark.browser
LONG = 60_000  # ms; a question is asked in a process of its own, which a busy machine starts slowly


def ask(page: Page, query: str) -> None:
    page.locator("#query").fill(query)
    page.keyboard.press("Control+Enter")
    answered(page)


def answered(page: Page) -> None:
    expect(page.locator("#ways")).to_be_visible(timeout=LONG)
    expect(page.locator("#answer:not([aria-busy])")).to_be_visible(timeout=LONG)


def cells(page: Page, column: int) -> list[str]:
    return page.locator(f"#rows tbody tr td:nth-child({column})").all_inner_texts()


def test_by_keyboard_alone(lab: str, watched: Watched) -> None:
    page = watched.visit(f"{lab}/sql?project=demo")
    page.locator("#query").focus()
    ask(page, "select n, n * 1.5 as half, 'x' || n as name from range(3) t(n)")
    assert page.locator("#told").inner_text().startswith("3 rows")
    assert (cells(page, 1), cells(page, 2), cells(page, 3)) == (["0", "1", "2"], ["0", "1.5", "3"], ["x0", "x1", "x2"])
    # the next stops behind the editor: Run, the scope, and what can be done with the answer
    page.locator("#rows thead button").first.focus()
    page.keyboard.press("Enter")
    assert cells(page, 1) == ["2", "1", "0"]
    page.keyboard.press("Enter")
    assert cells(page, 1) == ["0", "1", "2"]
    assert page.locator("#rows th[aria-sort]").get_attribute("aria-sort") == "ascending"


def test_a_refusal_is_said(lab: str, watched: Watched) -> None:
    watched.refusal = 422
    page = watched.visit(f"{lab}/sql?project=demo")
    for query, says in (("drop table slices", "ask one SELECT"), ("select nothing from slices", "not found")):
        page.locator("#query").fill(query)
        page.keyboard.press("Control+Enter")
        expect(page.locator("#fault")).to_contain_text(says, timeout=LONG)
        assert page.locator("#told").inner_text() == "no answer"
        assert page.locator("#rows").inner_text() == ""


@pytest.mark.parametrize("how", ["Escape", "Cancel"])
def test_an_endless_question_is_cancelled(lab: str, watched: Watched, how: str) -> None:
    page = watched.visit(f"{lab}/sql?project=demo")
    page.locator("#query").fill("select count(*) from range(1000000000000000)")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#told")).to_have_text("running")
    if how == "Escape":
        page.keyboard.press("Escape")
    else:
        page.get_by_role("button", name="Cancel").click()
    expect(page.locator("#told")).to_have_text("cancelled")
    assert page.locator("#cancel").is_hidden()
    ask(page, "select 7 as n")
    assert cells(page, 1) == ["7"]


@every_size
def test_a_ready_question_is_drawn(lab: str, watched: Watched) -> None:
    page = watched.visit(f"{lab}/sql?trace=1")
    page.get_by_role("button", name="What takes the time?").click()
    expect(page.locator("#chart svg.main-svg").first).to_be_visible(timeout=LONG)
    answered(page)
    drawn = page.evaluate("document.getElementById('chart').data.map(({name, y}) => [name, y[0]])")
    assert drawn == [["self_ms", "matmul"], ["calls", "matmul"]]
    page.get_by_role("button", name="Table", exact=True).click()
    assert cells(page, 1)[0] == "matmul"
    assert page.locator("#chart").is_hidden()
    assert watched.overflow() <= 0


def test_a_link_holds_the_question(lab: str, watched: Watched, browser: Browser) -> None:
    page = watched.visit(f"{lab}/sql?project=demo")
    ask(page, "select project, count(*) as n from runs group by all -- ü&?")
    found = parse_qs(urlsplit(page.url).query)
    assert found == {"project": ["demo"], "q": ["select project, count(*) as n from runs group by all -- ü&?"]}
    rows = cells(page, 2)
    other = browser.new_page()
    other.goto(page.url)
    answered(other)
    assert cells(other, 2) == rows and rows
    assert other.locator("#query").input_value() == found["q"][0]
    other.close()


def test_markup_in_a_question_stays_text(lab: str, watched: Watched) -> None:
    text = '</textarea><script>document.title = "broken"</script>'
    page = watched.visit(f"{lab}/sql?project=demo&q=" + quote(f"select '{text}' as t"))
    answered(page)
    assert cells(page, 1) == [text]
    assert page.title().startswith("SQL over demo")


def test_as_csv(lab: str, watched: Watched, tmp_path: Path) -> None:
    page = watched.visit(f"{lab}/sql?project=demo")
    ask(page, "select 'a,\"b\"' as x, null as y, [1, 2] as z, true as w")
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV").click()
    download.value.save_as(tmp_path / "answer.csv")
    with open(tmp_path / "answer.csv", newline="", encoding="utf-8") as file:
        assert list(csv.reader(file)) == [["x", "y", "z", "w"], ['a,"b"', "", "[1,2]", "true"]]


def test_a_long_answer_says_what_is_left_out(lab: str, watched: Watched) -> None:
    page = watched.visit(f"{lab}/sql?project=demo")
    ask(page, "from range(20000)")
    assert page.locator("#told").inner_text().startswith("the first 10,000 rows; there are more, 500 shown")
    assert page.locator("#rows tbody tr").count() == 500


def test_dark_mode_draws_dark_charts(lab: str, browser: Browser) -> None:
    context = browser.new_context(color_scheme="dark")
    page = Watched(context.new_page()).visit(f"{lab}/sql?trace=1")
    page.get_by_role("button", name="What takes the time?").click()
    expect(page.locator("#chart svg.main-svg").first).to_be_visible(timeout=LONG)
    assert page.evaluate("document.getElementById('chart')._fullLayout.paper_bgcolor") == "#151a20"
    context.close()
