from django.urls import include, path
from rest_framework.routers import SimpleRouter

from apps.processes.api import agents, definitions, processes, work_items

router = SimpleRouter()
router.register(
    "process-definitions", definitions.DefinitionsResource, basename="process-definition"
)
router.register("process-versions", definitions.VersionsResource, basename="process-version")
router.register("processes", processes.ProcessesResource, basename="process")
router.register("work-items", work_items.WorkItemsResource, basename="work-item")
router.register("agent-feedback", agents.FeedbackResource, basename="agent-feedback")
router.register("agent-knowledge", agents.KnowledgeResource, basename="agent-knowledge")

urlpatterns = [path("", include(router.urls))]
