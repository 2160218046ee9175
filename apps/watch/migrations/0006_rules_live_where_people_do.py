"""A tenant's time zone decides what `deadline` means, a person's language what a match says."""

from django.db import migrations

COUNT = """
CREATE FUNCTION watch_count_moves() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- In the order of tenants, as whoever changes subscriptions does.
    INSERT INTO watch_ruleversion (tenant_id, version)
    SELECT tenant_id, 1 FROM (
        SELECT DISTINCT tenant_id FROM watch_subscription
        WHERE CASE TG_TABLE_NAME WHEN 'accounts_tenant' THEN tenant_id = NEW.id
              ELSE user_id = NEW.id END
        ORDER BY tenant_id) AS t
    ON CONFLICT (tenant_id) DO UPDATE SET version = watch_ruleversion.version + 1;
    RETURN NULL;
END $$;
CREATE TRIGGER watch_tenant_moved AFTER UPDATE OF timezone ON accounts_tenant FOR EACH ROW
    WHEN (OLD.timezone IS DISTINCT FROM NEW.timezone) EXECUTE FUNCTION watch_count_moves();
CREATE TRIGGER watch_person_speaks AFTER UPDATE OF language ON accounts_user FOR EACH ROW
    WHEN (OLD.language IS DISTINCT FROM NEW.language) EXECUTE FUNCTION watch_count_moves();
"""
UNCOUNT = """
DROP TRIGGER watch_person_speaks ON accounts_user;
DROP TRIGGER watch_tenant_moved ON accounts_tenant;
DROP FUNCTION watch_count_moves();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("watch", "0005_history_stays"),
        ("accounts", "0003_tenants_have_a_time_zone"),
    ]
    operations = [migrations.RunSQL(COUNT, UNCOUNT)]
