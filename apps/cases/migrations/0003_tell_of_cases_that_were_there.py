from django.db import migrations

# What is known of them without the events, which are forgotten after some days.
OPENED = """
INSERT INTO cases_casestep (id, tenant_id, case_id, kind, actor, facts, note, created_at)
SELECT gen_random_uuid(), c.tenant_id, c.id, 'opened', coalesce(u.email, ''),
       jsonb_build_object('manager_id', c.manager_id), '', c.opened_at
FROM cases_case c LEFT JOIN accounts_user u ON u.id = c.opened_by_id
"""
CLOSED = """
INSERT INTO cases_casestep (id, tenant_id, case_id, kind, actor, facts, note, created_at)
SELECT gen_random_uuid(), c.tenant_id, c.id, 'moved', '',
       jsonb_build_object('new_status', c.status), '', c.closed_at
FROM cases_case c WHERE c.closed_at IS NOT NULL
"""


class Migration(migrations.Migration):
    dependencies = [("cases", "0002_what_became_of_cases")]

    operations = [
        migrations.RunSQL(OPENED, migrations.RunSQL.noop),
        migrations.RunSQL(CLOSED, migrations.RunSQL.noop),
    ]
