"""Diagrams that mean harm, or cannot be run: refused with the reason, and nothing is kept."""

import time

import pytest

from apps.processes import services
from apps.processes.errors import BpmnTooLarge, InvalidBpmn
from apps.processes.models import ProcessDefinition, ProcessVersion
from axiom.errors import AxiomError
from tests.processes import diagrams
from tests.processes.diagrams import END, HEAD, START, diagram, flow, timer, user

pytestmark = pytest.mark.django_db

NESTED = HEAD + "<a>" * 1_000_000 + "</a>" * 1_000_000
DEEP = HEAD + "<a>" * 100 + "</a>" * 100 + "</definitions>"
MANY = HEAD + "<a/>" * 30_000 + "</definitions>"
XXE = (
    '<?xml version="1.0"?><!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
    + diagrams.one_task().replace("Claim check", "&x;")
)
LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "ha">'
    + "".join(
        f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    )
    + "]>"
    + diagrams.one_task().replace("Claim check", "&i;")
)
OUTSIDE = '<?xml version="1.0"?><!DOCTYPE d SYSTEM "http://127.0.0.1:9/evil.dtd"><d/>'


@pytest.fixture
def refused(in_acme):
    """Uploads what must be refused; returns the error, having looked that nothing is there."""

    def upload(text):
        with pytest.raises(AxiomError) as caught:
            services.upload_definition(text=text)
        assert not ProcessDefinition.objects.exists()
        assert not ProcessVersion.objects.exists()
        return caught.value

    return upload


@pytest.mark.parametrize("text", [NESTED, DEEP, MANY], ids=["size", "depth", "elements"])
def test_too_much_is_refused_before_a_tree_is_built(refused, text):
    began = time.perf_counter()
    assert isinstance(refused(text), BpmnTooLarge)
    assert time.perf_counter() - began < 2


@pytest.mark.parametrize("text", [XXE, LAUGHS, OUTSIDE], ids=["file", "bomb", "network"])
def test_document_types_and_so_entities_are_refused(refused, text):
    error = refused(text)
    assert "DOCTYPE" in error.message
    assert "root:" not in error.message


@pytest.mark.parametrize(
    "text",
    ["", "no xml", "<a>", "<a></b>", "\x00", "\ud800", "&x;", "<a>&undefined;</a>", "<?xml?>"],
)
def test_what_is_no_xml_is_told_so(refused, text):
    error = refused(text)
    assert isinstance(error, InvalidBpmn)
    assert "XML" in error.message


@pytest.mark.parametrize(
    "text",
    [
        "<definitions/>",
        "<svg xmlns='http://www.w3.org/2000/svg'/>",
        diagrams.one_task().replace("20100524", "20990101"),
        diagrams.one_task().replace("definitions", "process"),
    ],
)
def test_another_namespace_is_no_bpmn(refused, text):
    error = refused(text)
    assert error.facts["errors"][0]["code"] == "wrong_namespace"


def codes(error):
    return {each["code"] for each in error.facts["errors"]}


TASK = user("check") + flow("start", "check", "end")
WRONG = {
    "no_start": diagram(user("check") + END + flow("check", "end")),
    "no_end": diagram(START + user("check") + flow("start", "check")),
    "dangling_flow": diagram(START + user("check") + END + flow("start", "check", "nowhere")),
    "dead_end": diagram(START + user("check") + user("last") + END + flow("start", "check", "end")),
    "unreachable": diagram(START + TASK + END + user("island") + flow("island", "end")),
    "unsupported": diagram(START + TASK + END + '<adHocSubProcess id="x"/>'),
    "several_flows": diagram(START + TASK + END + flow("check", "end", name="again")),
    "after_the_end": diagram(START + TASK + END + flow("end", "check")),
    "wrong_id": diagram(START + TASK + END + user("check")),
    "no_condition": diagram(
        START + '<exclusiveGateway id="g"/>' + user("a") + user("b") + END
        + flow("start", "g", "a", "end") + flow("g", "b", "end")
    ),
    "stray_condition": diagram(
        START + user("check") + END + flow("start", "check") + flow("check", "end", condition="x")
    ),
    "dangling_event": diagram(
        START + TASK + END + timer("boundaryEvent", "b", "PT1H", attachedToRef="nothing")
        + flow("b", "end")
    ),
    "no_time": diagram(
        START + '<intermediateCatchEvent id="i"/>' + END + flow("start", "i", "end")
    ),
    "no_script": diagram(START + '<scriptTask id="s"/>' + END + flow("start", "s", "end")),
    "one_process": HEAD + "</definitions>",
    "unknown_process": diagram(
        START + '<callActivity id="c" calledElement="x"/>' + END + flow("start", "c", "end")
    ),
    "endless_calls": diagram(
        START + '<callActivity id="c" calledElement="claim"/>' + END + flow("start", "c", "end")
    ),
    "wrong_attribute": diagrams.one_task(role="emperor"),
    "invalid_expression": diagrams.one_task(due="P99999999M"),
}  # fmt: skip


@pytest.mark.parametrize("code", WRONG)
def test_what_cannot_be_run_is_told_with_its_reason(refused, code):
    assert code in codes(refused(WRONG[code]))


@pytest.mark.parametrize(
    "element",
    [
        "<inclusiveGateway id='x'/>",
        "<eventBasedGateway id='x'/>",
        "<sendTask id='x'/>",
        "<businessRuleTask id='x'/>",
        "<transaction id='x'/>",
        "<dataObject id='x'/>",
        "<userTask id='x'><multiInstanceLoopCharacteristics/></userTask>",
        "<userTask id='x'><standardLoopCharacteristics loopMaximum='9'/></userTask>",
        "<startEvent id='x'><timerEventDefinition/></startEvent>",
        "<endEvent id='x'><messageEventDefinition/></endEvent>",
        "<boundaryEvent id='x' attachedToRef='check'><errorEventDefinition/></boundaryEvent>",
    ],
)
def test_elements_that_are_not_supported_are_named(refused, element):
    error = refused(diagram(START + TASK + END + element))
    assert "unsupported" in codes(error)
    assert any(each["detail"].startswith("x:") for each in error.facts["errors"])


def test_everything_that_is_wrong_is_told_at_once(refused):
    text = diagram(START + user("a", role="x") + user("b", confidence="7") + flow("start", "a"))
    assert codes(refused(text)) >= {"wrong_attribute", "no_end", "dead_end", "unreachable"}


def diamonds(count):
    body, before = START, "start"
    for n in range(count):
        body += f'<parallelGateway id="f{n}"/><parallelGateway id="j{n}"/>' + user(f"a{n}")
        body += (
            user(f"b{n}")
            + flow(before, f"f{n}", f"a{n}", f"j{n}")
            + flow(f"f{n}", f"b{n}", f"j{n}")
        )
        before = f"j{n}"
    return diagram(body + END + flow(before, "end"))


def test_parallel_branches_that_double_without_end_are_refused_at_once(refused):
    began = time.perf_counter()
    assert "too_many_paths" in codes(refused(diamonds(40)))
    assert time.perf_counter() - began < 2


def test_a_handful_of_them_is_fine(in_acme):
    services.upload_definition(text=diamonds(6))


def test_a_loop_without_a_decision_is_refused(refused):
    text = diagram(
        START + '<parallelGateway id="g"/><parallelGateway id="j"/>' + user("a") + END
        + flow("start", "j", "a", "g", "end") + flow("g", "j")
    )  # fmt: skip
    assert "too_many_paths" in codes(refused(text))


def chain(length):
    names = [f"t{n}" for n in range(length)]
    return diagram(START + "".join(map(user, names)) + END + flow("start", *names, "end"))


def test_as_many_nodes_as_are_allowed_can_be_run_and_one_more_is_refused(in_acme, refused):
    assert "too_many_nodes" in codes(refused(chain(199)))
    definition = services.upload_definition(text=chain(198))
    services.publish_version(version=definition.versions.get())
    assert services.start_process(definition=definition).stands_at == ["t0"]


HOSTILE = [
    "__import__('os').system('id')",
    "().__class__.__base__.__subclasses__()",
    "x.__class__",
    "x.__class__.__mro__",
    "''.format.__globals__",
    "'{0.__class__}'.format(x)",
    "f'{x}'",
    "eval('1')",
    "exec('1')",
    "open('/etc/passwd')",
    "getattr(x, 'y')",
    "globals()",
    "len.__self__",
    "(lambda: 1)()",
    "[y for y in x]",
    "{y: 1 for y in x}",
    "{'a': 1}",
    "x[0:99]",
    "10 ** 10 ** 10",
    "1 << 100000",
    "(y := 1)",
    "await x",
    "*x",
    "x if y",
    "len(x, key=y)",
    "b'bytes'",
    "1j",
    "...",
    "9" * 400,
    "(" * 300 + ")" * 300,
    "-" * 900 + "1",
    "x + " * 249 + "x",
    "a" * 2000,
    "import os",
    "x; y",
    "",
]


@pytest.mark.parametrize("expression", HOSTILE)
def test_a_hostile_condition_is_refused_when_it_is_uploaded(refused, expression):
    from xml.sax.saxutils import escape

    text = diagrams.decision().replace("amount &gt;= 1000", escape(expression) or " ")
    assert "invalid_expression" in codes(refused(text)) or expression == ""


@pytest.mark.parametrize(
    "script",
    [
        "import os",
        "x = __import__('os')",
        "x.y = 1",
        "x[0] = 1",
        "x, y = 1, 2",
        "x = y = 1",
        "x += 1",
        "__builtins__ = 1",
        "def f(): pass",
        "while true: x = 1",
        "for y in x: z = 1",
        "del x",
        "x",
        "x = 1\n" * 60,
    ],
)
def test_a_hostile_script_is_refused_when_it_is_uploaded(refused, script):
    task = f"<scriptTask id='s'><script>{script}</script></scriptTask>"
    error = refused(diagram(START + task + END + flow("start", "s", "end")))
    assert "invalid_expression" in codes(error)
