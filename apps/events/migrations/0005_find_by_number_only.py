from django.db import migrations

# The date in this index kept nothing apart (it differs for every row), but it tempted PostgreSQL
# to look for a day's events through all event ids. Without it the relay's statements have one
# index to choose: that of the numbers.
FORWARD = """
DROP INDEX event_outbox_event;
CREATE INDEX event_outbox_event ON event_outbox (event_id);
"""
BACKWARD = """
DROP INDEX event_outbox_event;
CREATE UNIQUE INDEX event_outbox_event ON event_outbox (event_id, created_at);
"""


class Migration(migrations.Migration):

    dependencies = [
        ('events', '0004_triage_of_dead_letters'),
    ]

    operations = [
        migrations.RunSQL(FORWARD, BACKWARD),
    ]
