from django.urls import include, path
from rest_framework.routers import SimpleRouter

from apps.cases.api import cases, comments, figures, plan

router = SimpleRouter(use_regex_path=False)
router.register("cases", cases.CasesResource, basename="case")
for name, resource in {
    "deadline": plan.DeadlinesResource,
    "payment": plan.PaymentsResource,
    "review": plan.ReviewsResource,
    "approval": plan.ApprovalsResource,
    "dataset": figures.DatasetsResource,
    "comment": comments.CommentsResource,
}.items():
    router.register(f"cases/<uuid:case_id>/{name}s", resource, basename=f"case-{name}")

urlpatterns = [
    path(
        "cases/<uuid:case_id>/cash/",
        figures.CashResource.as_view({"get": "retrieve", "post": "create"}),
        name="case-cash",
    ),
    path("", include(router.urls)),
]
