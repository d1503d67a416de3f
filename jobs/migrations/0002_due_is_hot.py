"""The due table is written at every fire: keep room on its pages and vacuum it eagerly."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("jobs", "0001_records")]
    operations = [
        migrations.RunSQL(
            "alter table jobs_due set (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01,"
            " autovacuum_vacuum_cost_delay = 0)",
            "alter table jobs_due reset (fillfactor, autovacuum_vacuum_scale_factor,"
            " autovacuum_vacuum_cost_delay)",
        )
    ]
