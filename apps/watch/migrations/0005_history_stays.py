from django.db import migrations

# What was done about an alert is evidence: it is written once, and nobody mends it afterwards.
STAYS = """
CREATE FUNCTION watch_alerthistory_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'The history of an alert stays as it was written.'
        USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER stays BEFORE UPDATE OR DELETE ON watch_alerthistory
    FOR EACH ROW EXECUTE FUNCTION watch_alerthistory_stays();
CREATE TRIGGER stays_whole BEFORE TRUNCATE ON watch_alerthistory
    FOR EACH STATEMENT EXECUTE FUNCTION watch_alerthistory_stays();
"""
GOES = """
DROP TRIGGER stays_whole ON watch_alerthistory;
DROP TRIGGER stays ON watch_alerthistory;
DROP FUNCTION watch_alerthistory_stays();
"""


class Migration(migrations.Migration):

    dependencies = [('watch', '0004_alerts')]

    operations = [migrations.RunSQL(STAYS, GOES)]
