from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("documents", "0001_documents")]

    operations = [
        migrations.RemoveIndex(model_name="job", name="job_to_do"),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(
                condition=models.Q(("state__in", ("QUEUED", "RUNNING"))),
                fields=["tenant", "id"],
                name="job_to_do_by_tenant",
            ),
        ),
    ]
