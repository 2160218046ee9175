"""BPMN 2.0: read without trust, checked before it is kept, run by SpiffWorkflow."""

from apps.processes.bpmn.checking import Activity, Blueprint, blueprint_of
from apps.processes.bpmn.running import Run, Stuck, prove, specs_of

__all__ = ["Activity", "Blueprint", "Run", "Stuck", "blueprint_of", "prove", "specs_of"]
