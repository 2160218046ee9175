"""A process's diagram in a real browser: drawn, with where it stands, under the console's policy."""

import pytest

from apps.events.context import acting
from apps.processes import demo, services

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def instance(acme, alice):
    """Claims are to be received; two tasks and a decision lie ahead."""
    alice.is_staff = True
    alice.save()
    text = (demo.EXAMPLES / "claim_review_hanbit.bpmn").read_text()
    with acting(tenant_id=acme.pk, actor=alice.email):
        definition = services.upload_definition(text=text, by=alice)
        services.publish_version(version=definition.versions.get())
        return services.start_process(
            definition=definition, title="한빛섬유", variables={"total_claims": 5}, by=alice
        )


def opened(visit, alice, instance, **how):
    window = visit(**how)
    window.log_in(alice)
    assert window.open(f"/admin/processes/processinstance/{instance.pk}/diagram/") == 200
    window.page.wait_for_selector("#diagram[data-drawn=yes]")
    return window


def marked(window, name):
    return window.page.eval_on_selector_all(
        f".djs-element.{name}", "all => all.map(each => each.dataset.elementId).sort()"
    )


def test_the_diagram_is_drawn_with_where_it_stands(visit, alice, instance):
    window = opened(visit, alice, instance)
    assert marked(window, "ax-here") == ["late", "receive"]
    assert marked(window, "ax-been") == ["start"]
    words = window.page.text_content("#diagram svg")
    assert "채권 신고 접수" in words
    assert "데이터 수치 검증" in words
    assert window.complaints == []


def test_the_mark_moves_with_the_process(visit, alice, acme, instance):
    with acting(tenant_id=acme.pk, actor=alice.email):
        doer = services.Doer(alice, "attorney")
        services.complete_work(item=instance.work_items.get(), by=doer, result={})
        services.advance(instance.pk)
    window = opened(visit, alice, instance, width=390, color_scheme="dark")
    assert marked(window, "ax-here") == ["verify"]
    assert marked(window, "ax-been") == ["receive", "start"]
    assert not window.is_wider_than_the_window()


@pytest.mark.parametrize("width", [1280, 390])
def test_every_page_about_it_is_in_order(visit, alice, acme, instance, width):
    window = visit(width=width)
    window.log_in(alice)
    version = instance.version
    with acting(tenant_id=acme.pk):
        rows = [instance, instance.work_items.get(), version, version.definition]
    pages = [f"/admin/processes/{row._meta.model_name}/{row.pk}/change/" for row in rows]
    adding = ("processdefinition", "processversion", "agentknowledge")
    pages += [f"/admin/processes/{name}/add/" for name in adding]
    pages += [f"/admin/processes/{row._meta.model_name}/" for row in rows]
    assert {page: window.open(page) for page in pages} == dict.fromkeys(pages, 200)
    assert window.complaints == []


def test_the_makers_of_the_viewer_are_named(visit, alice, instance):
    """Their licence asks for it: the mark is there, in full sight."""
    window = opened(visit, alice, instance)
    mark = window.page.locator(".bjs-powered-by")
    assert mark.is_visible()
    box, sheet = mark.bounding_box(), window.page.locator("#diagram").bounding_box()
    assert sheet["x"] <= box["x"]
    assert box["y"] + box["height"] <= sheet["y"] + sheet["height"]


def test_a_diagram_that_cannot_be_drawn_says_so(visit, alice, instance):
    window = visit()
    window.log_in(alice)
    spoil = "**/diagram/"
    window.page.route(
        spoil,
        lambda route: route.fulfill(
            response=(answer := route.fetch()),
            body=answer.text().replace("BPMNPlane", "BPMNPlain"),
        ),
    )
    window.open(f"/admin/processes/processinstance/{instance.pk}/diagram/")
    window.page.wait_for_selector("#no-diagram:visible")
    assert not window.page.is_visible("#diagram")
