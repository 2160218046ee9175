"""Instances run on their version for months: not even a careless query may change it."""

from django.db import migrations

REFUSE = """
CREATE FUNCTION refuse_to_change_a_published_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'A published version never changes: add a new one.'
        USING ERRCODE = 'restrict_violation';
END $$;

CREATE TRIGGER published_versions_never_change
BEFORE UPDATE OF definition_id, number, bpmn, sha256, activities, published_at
ON processes_processversion FOR EACH ROW
WHEN (OLD.published_at IS NOT NULL AND (
    OLD.definition_id, OLD.number, OLD.bpmn, OLD.sha256, OLD.activities, OLD.published_at
) IS DISTINCT FROM (
    NEW.definition_id, NEW.number, NEW.bpmn, NEW.sha256, NEW.activities, NEW.published_at
))
EXECUTE FUNCTION refuse_to_change_a_published_version();
"""

ALLOW = """
DROP TRIGGER published_versions_never_change ON processes_processversion;
DROP FUNCTION refuse_to_change_a_published_version();
"""


class Migration(migrations.Migration):
    dependencies = [("processes", "0001_definitions_instances_and_work")]
    operations = [migrations.RunSQL(REFUSE, ALLOW)]
