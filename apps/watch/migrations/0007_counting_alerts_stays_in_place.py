from django.db import migrations

# A storm counts the same alerts again and again. With room in their pages, a count stays where the
# row is and touches none of the table's indexes.
FORWARD = "ALTER TABLE watch_alert SET (fillfactor = 60)"
BACKWARD = "ALTER TABLE watch_alert RESET (fillfactor)"


class Migration(migrations.Migration):

    dependencies = [
        ('watch', '0006_rules_live_where_people_do'),
    ]

    operations = [
        migrations.RunSQL(FORWARD, BACKWARD),
    ]
