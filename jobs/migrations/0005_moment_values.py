"""Whether something is filled in when a run of a job is born. Of no stored job: it could not be said."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('jobs', '0004_windows_and_allowances'),
    ]

    operations = [
        migrations.AddField(
            model_name='job',
            name='templated',
            field=models.BooleanField(default=False),
        ),
    ]
