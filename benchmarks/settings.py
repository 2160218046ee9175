"""Axiom as it is, with the benchmarks' own tables, events and handlers beside it."""

from axiom.settings import *
from axiom.settings import API_THROTTLES, INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "procrastinate.contrib.django", "benchmarks"]
API_THROTTLES = dict.fromkeys(API_THROTTLES, "1000000/min")
