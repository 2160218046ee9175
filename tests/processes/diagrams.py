"""Diagrams for tests, written in a few words."""

from itertools import pairwise

HEAD = (
    '<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"'
    ' xmlns:axiom="urn:axiom:bpmn" targetNamespace="urn:test">'
)


def diagram(body, key="claim", name="Claim check", head=HEAD, also=""):
    process = f'<process id="{key}" name="{name}" isExecutable="true">{body}</process>'
    return f"{head}{process}{also}</definitions>"


def flow(*path, condition=None, name=""):
    """Flows along a path of ids."""
    inner = f"<conditionExpression>{condition}</conditionExpression>" if condition else ""
    return "".join(
        f'<sequenceFlow id="{name or f"{a}_{b}"}" sourceRef="{a}" targetRef="{b}">{inner}</sequenceFlow>'
        for a, b in pairwise(path)
    )


def user(name, **how):
    return _task("userTask", name, how)


def service(name, **how):
    return _task("serviceTask", name, how)


def _task(tag, name, how):
    ours = "".join(f' axiom:{key}="{value}"' for key, value in how.items())
    return f'<{tag} id="{name}" name="{name.title()}"{ours}/>'


START, END = '<startEvent id="start"/>', '<endEvent id="end" name="Finished"/>'


def timer(tag, name, time, **how):
    kind = "timeDate" if time[0].isdigit() else "timeDuration"
    extra = "".join(f' {key}="{value}"' for key, value in how.items())
    return (
        f'<{tag} id="{name}"{extra}><timerEventDefinition><{kind}>{time}</{kind}>'
        f"</timerEventDefinition></{tag}>"
    )


def one_task(**how):
    return diagram(START + user("check", **how) + END + flow("start", "check", "end"))


def decision():
    """Checked by a person; large claims go to a manager."""
    return diagram(
        START
        + user("check", role="attorney")
        + '<exclusiveGateway id="large" default="small"/>'
        + user("decide", role="manager")
        + END
        + flow("start", "check", "large")
        + flow("large", "decide", condition="amount &gt;= 1000")
        + flow("decide", "end")
        + flow("large", "end", name="small")
    )


def both():
    """Two people at the same time, and one after them."""
    return diagram(
        START
        + '<parallelGateway id="fork"/><parallelGateway id="join"/>'
        + user("left")
        + user("right")
        + user("after")
        + END
        + flow("start", "fork", "left", "join", "after", "end")
        + flow("fork", "right", "join")
    )


def machine(**how):
    how = {"agent": "gpt-4o", "confidence": "0.8"} | how
    return diagram(START + service("read", **how) + END + flow("start", "read", "end"))
