"""Which zone data worked out the next moment of a job."""

from django.db import migrations, models

# By which version the stored moments were worked out, nobody wrote down: the first beat looks.
_NOBODY_KNOWS = """
update jobs_job set zone_data = 'unknown'
 where exists (select 1 from jsonb_array_elements(schedule) part
                where part->>'timezone' <> 'UTC')
"""


class Migration(migrations.Migration):

    dependencies = [
        ('jobs', '0005_moment_values'),
    ]

    operations = [
        migrations.AddField(
            model_name='job',
            name='zone_data',
            field=models.CharField(blank=True, default='', max_length=12),
        ),
        migrations.RunSQL(_NOBODY_KNOWS, migrations.RunSQL.noop),
        migrations.AddIndex(
            model_name='job',
            index=models.Index(condition=models.Q(('deleted_at', None), models.Q(('zone_data', ''), _negated=True)), fields=['zone_data'], name='jobs_by_zone_data'),
        ),
    ]
