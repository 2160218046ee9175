from django.db import migrations

# What waits at this moment keeps holding back its followers, whose key now names the tenant.
FORWARD = """
UPDATE event_retry SET aggregate = (fields ->> 'tenant_id')::uuid || ':' || aggregate
"""
BACKWARD = """
UPDATE event_retry SET aggregate = substr(aggregate, length((fields ->> 'tenant_id')::uuid::text) + 2)
"""


class Migration(migrations.Migration):

    dependencies = [
        ('events', '0005_find_by_number_only'),
    ]

    operations = [
        migrations.RunSQL(FORWARD, BACKWARD),
    ]
