from django.db import migrations, models

# As apps.events.message.position() has it: the millisecond, then the number within it.
PLACE = """
UPDATE {} SET position = (split_part(entry_id, '-', 1)::bigint << 20)
                       | least(coalesce(nullif(split_part(entry_id, '-', 2), ''), '0')::bigint, 1048575)
WHERE entry_id <> ''
"""


class Migration(migrations.Migration):

    dependencies = [
        ('events', '0002_retries_keep_their_order'),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name='retry',
            name='retry_aggregate',
        ),
        migrations.AddField(
            model_name='deadletter',
            name='position',
            field=models.BigIntegerField(default=0, verbose_name='place in the stream'),
        ),
        migrations.AddField(
            model_name='retry',
            name='position',
            field=models.BigIntegerField(default=0, verbose_name='place in the stream'),
        ),
        migrations.RunSQL(PLACE.format('event_retry'), migrations.RunSQL.noop),
        migrations.RunSQL(PLACE.format('event_dead_letter'), migrations.RunSQL.noop),
        migrations.AddIndex(
            model_name='retry',
            index=models.Index(fields=['group', 'aggregate', 'position'], name='retry_aggregate'),
        ),
    ]
