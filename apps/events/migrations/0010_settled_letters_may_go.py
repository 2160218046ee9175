from django.db import migrations

# An act is history, and stays. The one way out is housekeeping's: it says so in its transaction
# (apps/events/services/forget.py), and even then only what is old and belongs to no open letter
# goes. Nothing may ever change one.
FORWARD = """
CREATE OR REPLACE FUNCTION event_dead_letter_act_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE'
       AND current_setting('axiom.forgetting', true) = 'settled letters'
       AND OLD.at < now() - interval '30 days'
       AND NOT EXISTS (SELECT FROM event_dead_letter WHERE id = OLD.letter_id AND status = 'open')
    THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'What was done about a dead letter stays as it was written.'
        USING ERRCODE = 'restrict_violation';
END $$;
"""
BACKWARD = """
CREATE OR REPLACE FUNCTION event_dead_letter_act_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'What was done about a dead letter stays as it was written.'
        USING ERRCODE = 'restrict_violation';
END $$;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('events', '0009_lists_of_letters'),
    ]

    operations = [
        migrations.RunSQL(FORWARD, BACKWARD),
    ]
