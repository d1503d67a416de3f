"""Zone data that were seen, and what the clock showed at the moment of a run."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0004_backfills'),
    ]

    operations = [
        migrations.CreateModel(
            name='ZoneData',
            fields=[
                ('version', models.CharField(max_length=12, primary_key=True, serialize=False)),
                ('seen_at', models.DateTimeField()),
                ('recomputed_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'verbose_name_plural': 'zone data',
                'ordering': ('-version',),
            },
        ),
        migrations.AddField(
            model_name='run',
            name='utc_offset',
            field=models.SmallIntegerField(blank=True, null=True),
        ),
    ]
