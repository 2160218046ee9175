"""A letter of the relay keeps what its event was published with: its outbox row may go first."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("events", "0006_aggregates_belong_to_tenants")]

    operations = [
        migrations.AddField(
            model_name="deadletter",
            name="origin",
            field=models.JSONField(default=dict, verbose_name="origin"),
        ),
    ]
