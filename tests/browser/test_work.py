"""Work in a real browser: a case and its timeline, my work, and a diagram that moves."""

import pytest

from apps.cases import services as cases
from apps.documents import services as documents
from apps.events.context import acting
from apps.processes import demo, services
from tests.browser.pictures import keep
from tests.documents import files
from tests.documents.conftest import Workshop

pytestmark = pytest.mark.django_db(transaction=True)

SHAPES = [(1280, "light", "en-US"), (390, "dark", "ko-KR")]


@pytest.fixture
def staff(acme, member_of):
    """Dora, an attorney of Acme: the demo's process begins with a task of hers."""
    dora = member_of(acme, "dora", "attorney")
    dora.is_staff = True
    dora.save()
    return dora


@pytest.fixture
def in_office(acme, staff):
    """Acts for Acme, as a colleague in another room would."""
    with acting(tenant_id=acme.pk, actor=staff.email):
        yield


@pytest.fixture
def case(in_office, staff):
    return cases.open_case(title="한빛섬유 회생", opened_by=staff)


@pytest.fixture
def instance(case, staff):
    text = (demo.EXAMPLES / "claim_review_hanbit.bpmn").read_text()
    definition = services.upload_definition(text=text, by=staff)
    services.publish_version(version=definition.versions.get())
    return services.start_process(
        definition=definition, title="채권 조사", case_id=case.pk,
        variables={"total_claims": 5}, by=staff,
    )  # fmt: skip


@pytest.fixture
def window(visit, staff):
    window = visit()
    window.log_in(staff)
    return window


def timeline_of(case):
    return f"/admin/cases/case/{case.pk}/timeline/"


def diagram_of(instance):
    return f"/admin/processes/processinstance/{instance.pk}/diagram/"


def happened(window):
    """What the timeline says, the newest first."""
    return window.page.locator(".ax-happened strong").all_inner_texts()


def test_a_case_is_opened_and_its_timeline_grows_while_one_looks(window, in_office, staff):
    window.open("/admin/cases/case/add/")
    window.page.fill("[name=title]", "Hanbit Textile")
    window.page.click("[name=_save]")
    window.page.click("text=what happened")
    window.page.wait_for_selector(".ax-happened")
    assert happened(window) == ["Opened"]
    window.page.fill("[name=body]", "Please check the list.")
    window.page.click("text=Add the comment")
    window.page.wait_for_selector(".ax-happened >> text=Please check the list.")
    assert happened(window) == ["Comment", "Opened"]
    # Somebody else does something, and nobody asks for the page again.
    (case,) = cases_of_acme()
    cases.add_comment(case=case, author=staff, body="Done, all of it.")
    window.page.wait_for_selector(".ax-happened >> text=Done, all of it.")
    assert window.page.text_content("[data-news-of=case]") == "New: Comment"
    assert happened(window) == ["Comment", "Comment", "Opened"]
    assert window.complaints == []


def cases_of_acme():
    from apps.cases.selectors import cases as known

    return known()


def test_a_case_is_moved_and_says_why(window, case):
    window.open(timeline_of(case))
    window.page.select_option("[name=status]", "in_review")
    window.page.fill("[name=reason]", "All claims are filed.")
    window.page.click("text=Change it")
    window.page.wait_for_selector(".ax-happened >> text=All claims are filed.")
    assert window.page.text_content("[data-show=status]") == "In review"
    assert window.complaints == []


def test_what_is_marked_with_the_keyboard_is_not_taken_away(window, case, staff):
    """The list is renewed once nobody is in it any more."""
    window.open(timeline_of(case))
    window.page.focus(".ax-topics a >> nth=1")
    with window.page.expect_request("**/timeline/?part=1") as asked:
        window.page.evaluate("document.activeElement.blur()")
        window.page.evaluate("document.dispatchEvent(new CustomEvent('axiom:notification'))")
    assert asked.value.response().status in {200, 304}
    window.page.focus(".ax-topics a >> nth=1")
    cases.add_comment(case=case, author=staff, body="While she reads")
    window.page.evaluate("window.before = document.activeElement")
    window.page.evaluate("document.dispatchEvent(new CustomEvent('axiom:notification'))")
    window.page.wait_for_function("() => new Promise(done => setTimeout(() => done(true), 800))")
    assert window.page.evaluate("document.activeElement === window.before")
    window.page.evaluate("document.activeElement.blur()")
    window.page.wait_for_selector(".ax-happened >> text=While she reads")


def test_my_work_is_completed_and_the_diagram_moves_in_another_tab(window, instance):
    diagram = window.context.new_page()
    diagram.goto(window.server + diagram_of(instance))
    diagram.wait_for_selector("#diagram[data-drawn=yes]")
    assert ids_marked(diagram, "ax-here") == ["late", "receive"]

    window.open("/admin/my-work/")
    window.page.click("text=채권 신고 접수")
    window.page.click("text=Take it")
    window.page.wait_for_selector("[data-show=status] >> text=In progress")
    names, texts = window.page.locator("[name=name]"), window.page.locator("[name=value]")
    for row, (name, text) in enumerate({"claims": "47", "complete": "true"}.items()):
        names.nth(row).fill(name)
        texts.nth(row).fill(text)
    window.page.click("text=Another value")
    assert names.count() == 3
    window.page.click("button:has-text('Complete')")
    window.page.wait_for_selector("[data-show=status] >> text=Done")
    assert instance.work_items.get().result == {"claims": 47, "complete": True}

    # The engine hears of it, as its worker would.
    services.advance(instance.pk)
    diagram.wait_for_selector(".djs-element.ax-here[data-element-id=verify]")
    assert ids_marked(diagram, "ax-here") == ["verify"]
    assert ids_marked(diagram, "ax-been") == ["receive", "start"]
    assert "verify" in diagram.get_attribute("#diagram", "aria-label")
    assert window.complaints == []


def ids_marked(page, name):
    return page.eval_on_selector_all(
        f".djs-element.{name}", "all => all.map(each => each.dataset.elementId).sort()"
    )


def test_new_work_comes_by_itself(window, case, staff, request):
    window.open("/admin/my-work/")
    assert window.page.is_visible("text=Nothing waits for you.")
    request.getfixturevalue("instance")
    window.page.wait_for_selector("text=채권 신고 접수")
    assert window.complaints == []


@pytest.fixture
def document(case, settings, tmp_path):
    settings.DOCUMENTS_DIR = tmp_path / "documents"
    documents.add_pattern(field="total", pattern=r"Total claims: ([\d,]+)", value_type="number")
    upload = files.incoming(files.pdf("Total claims: 1,250,000 KRW", "a second page"))
    return documents.upload_document(case_id=case.pk, incoming=upload, file_name="claims.pdf")


def test_the_progress_of_a_document_is_seen_while_it_is_read(window, document):
    window.open(f"/admin/documents/document/{document.pk}/change/")
    assert window.page.text_content("#document-progress [data-show=state]") == "In line"
    workshop = Workshop()
    workshop.work()
    window.page.wait_for_selector("#document-progress[data-settled='1']")
    assert window.page.text_content("#document-progress [data-show=state]") == "Ready"
    assert "1250000" in window.page.text_content("#document-progress table")
    assert "2 / 2" in window.page.text_content("#document-progress [data-show=pages]")
    assert window.complaints == []


@pytest.fixture
def busy_case(case, staff, instance):
    """With something of each kind, and words that are long."""
    cases.add_comment(case=case, author=staff, body="채권자 목록을 확인해 주세요. " * 12)
    cases.add_comment(case=case, author=staff, body="x" * 300)
    cases.assign(case=case, manager_id=staff.pk, member_ids=[staff.pk])
    cases.register_data(case=case, name="거래내역.csv", records_count=100, issues_count=60)
    cases.change_status(case=case, status="in_progress", reason="회생계획안 초안을 검토합니다.")
    return case


@pytest.mark.parametrize(("width", "scheme", "locale"), SHAPES)
def test_each_page_of_the_work_is_in_order(
    visit, staff, busy_case, instance, width, scheme, locale
):
    window = visit(width=width, color_scheme=scheme, locale=locale)
    window.log_in(staff)
    item = instance.work_items.get()
    pages = {
        "case": timeline_of(busy_case),
        "case-comments": timeline_of(busy_case) + "?only=comments",
        "my-work": "/admin/my-work/",
        "work-item": f"/admin/my-work/{item.pk}/",
        "diagram": diagram_of(instance),
        "case-form": f"/admin/cases/case/{busy_case.pk}/change/",
    }
    for name, path in pages.items():
        assert window.open(path) == 200, path
        assert not window.is_wider_than_the_window(), path
        assert window.complaints == [], path
        keep(window, f"work-{name}")
