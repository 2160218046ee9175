"""Whoever changes subscriptions, by whatever way, the version of the tenant's rules goes up."""

from django.db import migrations

COUNT = """
CREATE FUNCTION watch_count_rule_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- In the order of tenants: two that change several wait for each other and do not deadlock.
    INSERT INTO watch_ruleversion (tenant_id, version)
    SELECT tenant_id, 1 FROM (SELECT DISTINCT tenant_id FROM changed ORDER BY tenant_id) AS t
    ON CONFLICT (tenant_id) DO UPDATE SET version = watch_ruleversion.version + 1;
    RETURN NULL;
END $$;
CREATE TRIGGER watch_subscription_made AFTER INSERT ON watch_subscription
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION watch_count_rule_changes();
CREATE TRIGGER watch_subscription_changed AFTER UPDATE ON watch_subscription
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION watch_count_rule_changes();
CREATE TRIGGER watch_subscription_removed AFTER DELETE ON watch_subscription
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION watch_count_rule_changes();
"""
UNCOUNT = """
DROP TRIGGER watch_subscription_removed ON watch_subscription;
DROP TRIGGER watch_subscription_changed ON watch_subscription;
DROP TRIGGER watch_subscription_made ON watch_subscription;
DROP FUNCTION watch_count_rule_changes();
"""


class Migration(migrations.Migration):
    dependencies = [("watch", "0002_windows")]
    operations = [migrations.RunSQL(COUNT, UNCOUNT)]
