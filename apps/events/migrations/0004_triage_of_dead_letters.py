import apps.events.ids
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models


# An act is history. TRUNCATE fires no row triggers, so that tests can still begin anew.
KEEP_HISTORY = """
CREATE FUNCTION event_dead_letter_act_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'What was done about a dead letter stays as it was written.'
        USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER stays BEFORE UPDATE OR DELETE ON event_dead_letter_act
    FOR EACH ROW EXECUTE FUNCTION event_dead_letter_act_stays();
"""
FORGET_HISTORY = "DROP TRIGGER stays ON event_dead_letter_act; DROP FUNCTION event_dead_letter_act_stays();"
# Read by the journey: which event is an edited copy of this one?
COPIES = "CREATE INDEX event_outbox_copy ON event_outbox (replaces_id) WHERE replaces_id IS NOT NULL"


class Migration(migrations.Migration):

    dependencies = [
        ('events', '0003_what_waits_keeps_its_place'),
    ]

    operations = [
        migrations.CreateModel(
            name='DeadLetterAct',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('kind', models.TextField(choices=[('redriven', 'Sent again'), ('replaced', 'Replaced by an edited copy'), ('tried', 'Tried without effect'), ('discarded', 'Discarded')], verbose_name='what')),
                ('actor', models.TextField(verbose_name='who')),
                ('reason', models.TextField(blank=True, verbose_name='reason')),
                ('diff', models.TextField(blank=True, verbose_name='edit')),
                ('facts', models.JSONField(default=dict, verbose_name='details')),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='when')),
            ],
            options={
                'verbose_name': 'act on a dead letter',
                'verbose_name_plural': 'acts on dead letters',
                'db_table': 'event_dead_letter_act',
            },
        ),
        migrations.CreateModel(
            name='Redrive',
            fields=[
                ('id', models.UUIDField(default=apps.events.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('tenant_id', models.UUIDField(null=True, verbose_name='tenant')),
                ('filters', models.JSONField(verbose_name='which letters')),
                ('rate', models.PositiveSmallIntegerField(verbose_name='letters per second')),
                ('reason', models.TextField(blank=True, verbose_name='reason')),
                ('actor', models.TextField(verbose_name='started by')),
                ('status', models.TextField(choices=[('running', 'Running'), ('stopped', 'Stopped'), ('done', 'Done')], default='running', verbose_name='status')),
                ('total', models.PositiveIntegerField(verbose_name='found')),
                ('sent', models.PositiveIntegerField(default=0, verbose_name='sent again')),
                ('skipped', models.PositiveIntegerField(default=0, verbose_name='left alone')),
                ('after_position', models.BigIntegerField(default=-1)),
                ('after_letter', models.UUIDField(null=True)),
                ('stepped_at', models.DateTimeField(verbose_name='last step')),
                ('stopped_by', models.TextField(blank=True, verbose_name='stopped by')),
                ('error', models.TextField(blank=True, verbose_name='error')),
                ('created_at', models.DateTimeField(verbose_name='started')),
                ('finished_at', models.DateTimeField(null=True, verbose_name='finished')),
            ],
            options={
                'verbose_name': 'redrive',
                'verbose_name_plural': 'redrives',
                'db_table': 'event_redrive',
            },
        ),
        migrations.AlterField(
            model_name='inboxentry',
            name='outcome',
            field=models.TextField(choices=[('done', 'Done'), ('dead', 'Dead letter'), ('replaced', 'Replaced by an edited copy'), ('discarded', 'Discarded')], db_default='done', verbose_name='outcome'),
        ),
        migrations.AddIndex(
            model_name='deadletter',
            index=models.Index(fields=['tenant_id', 'created_at'], name='dead_letter_tenant'),
        ),
        migrations.AddIndex(
            model_name='deadletter',
            index=models.Index(condition=models.Q(('status', 'open')), fields=['position', 'id'], name='dead_letter_open'),
        ),
        migrations.AddIndex(
            model_name='deadletter',
            index=models.Index(condition=models.Q(('status', 'open')), fields=['group', 'stream'], name='dead_letter_open_by_group'),
        ),
        migrations.AddIndex(
            model_name='deadletter',
            index=models.Index(condition=models.Q(('event_id', None)), fields=['entry_id'], name='dead_letter_unreadable'),
        ),
        migrations.AddIndex(
            model_name='deadletter',
            index=models.Index(fields=['trace_id'], name='dead_letter_trace'),
        ),
        migrations.AddIndex(
            model_name='deadletter',
            index=models.Index(fields=['aggregate_id'], name='dead_letter_aggregate'),
        ),
        migrations.AddField(
            model_name='deadletteract',
            name='letter',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='acts', to='events.deadletter'),
        ),
        migrations.AddIndex(
            model_name='redrive',
            index=models.Index(condition=models.Q(('status', 'running')), fields=['created_at'], name='redrive_running'),
        ),
        migrations.AddConstraint(
            model_name='redrive',
            constraint=models.CheckConstraint(condition=models.Q(('rate__gte', 1)), name='redrive_moves'),
        ),
        migrations.AddField(
            model_name='deadletteract',
            name='redrive',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='acts', to='events.redrive', verbose_name='redrive'),
        ),
        migrations.RunSQL(KEEP_HISTORY, FORGET_HISTORY),
        migrations.RunSQL(COPIES, "DROP INDEX event_outbox_copy"),
    ]
