"""Tells at the end of a test run what was done to which installation, with the seed to repeat it."""

from typing import Any


def tell(terminal: Any) -> None:
    reports = [each for reports in terminal.stats.values() for each in reports]
    lines = [
        f"{report.nodeid.partition('::')[2]}: {story}"
        for report in reports
        if getattr(report, "when", "") == "teardown"
        for name, story in report.user_properties
        if name == "faults"
    ]
    if lines:
        terminal.section("what the fault tests did")
        for line in lines:
            terminal.write_line(line)
