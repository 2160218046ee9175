"""What Celery does for the catalog: reading data sources, and finding those that are due."""

from uuid import UUID

from celery import shared_task
from django.utils import timezone


@shared_task
def extract(run_id: str) -> str:
    """Do a run that is in line; says how it ended."""
    from apps.metadata import services

    return services.run_extraction(run_id).state


@shared_task
def start_due() -> int:
    """Put sources in line whose time has come, and end runs whose process is gone."""
    from apps.metadata import services

    return services.start_due(timezone.now())


@shared_task
def generate(tenant_id: str, table_id: str) -> int:
    """Have a table described by the generator; says how many descriptions came of it."""
    from apps.events.context import acting
    from apps.metadata import services
    from apps.metadata.models import CatalogTable

    with acting(tenant_id=UUID(tenant_id)):
        table = CatalogTable.objects.select_related("datasource").filter(pk=table_id).first()
        return services.generate_descriptions(table=table) if table else 0
