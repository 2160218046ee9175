"""Axiom as it is, with the benchmarks' own tables, events and handlers beside it."""

from axiom.settings import *
from axiom.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "procrastinate.contrib.django", "benchmarks"]
