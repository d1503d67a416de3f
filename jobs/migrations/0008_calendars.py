"""Shared calendars, their versions, and which version a job goes by."""

import django.core.validators
import django.db.models.deletion
import re
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('jobs', '0007_holds'),
    ]

    operations = [
        migrations.CreateModel(
            name='Calendar',
            fields=[
                ('name', models.CharField(max_length=60, primary_key=True, serialize=False, validators=[django.core.validators.RegexValidator(re.compile('^[-a-zA-Z0-9_]+\\Z'), 'Enter a valid “slug” consisting of letters, numbers, underscores or hyphens.', 'invalid')])),
                ('description', models.TextField(blank=True, default='')),
                ('version', models.PositiveIntegerField()),
                ('created_at', models.DateTimeField()),
                ('deleted_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'ordering': ('name',),
            },
        ),
        migrations.CreateModel(
            name='CalendarVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('began_at', models.DateTimeField()),
                ('content', models.JSONField()),
                ('days', models.JSONField()),
                ('known_until', models.DateField(blank=True, null=True)),
            ],
            options={
                'ordering': ('calendar', 'number'),
            },
        ),
        migrations.AddField(
            model_name='job',
            name='calendar_rule',
            field=models.CharField(blank=True, default='', max_length=8),
        ),
        migrations.AddField(
            model_name='job',
            name='calendar_version',
            field=models.PositiveIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='job',
            name='calendar',
            field=models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, to='jobs.calendar'),
        ),
        migrations.AddIndex(
            model_name='job',
            index=models.Index(condition=models.Q(('calendar__isnull', False)), fields=['calendar', 'id'], name='jobs_by_a_calendar'),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('calendar', None), ('calendar_rule', ''), ('calendar_version', None)), models.Q(('calendar__isnull', False), ('calendar_rule__in', ('skip', 'next', 'previous')), ('calendar_version__isnull', False)), _connector='OR'), name='a_calendar_has_a_rule_and_a_version'),
        ),
        migrations.AddField(
            model_name='calendarversion',
            name='by',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='calendarversion',
            name='calendar',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to='jobs.calendar'),
        ),
        migrations.AddConstraint(
            model_name='calendarversion',
            constraint=models.UniqueConstraint(fields=('calendar', 'number'), name='one_calendar_version_per_number'),
        ),
    ]
