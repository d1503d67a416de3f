import runs.states
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0010_what_runs_died_of'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='run',
            index=models.Index(condition=models.Q(('error_group__isnull', False)), fields=['error_group', 'state', 'id'], name='runs_of_an_error_group'),
        ),
        migrations.AddConstraint(
            model_name='run',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state', runs.states.State['DEAD']), _negated=True), models.Q(('died_at__isnull', False), ('error_group__isnull', False)), _connector='OR'), name='dead_run_belongs_to_a_group'),
        ),
    ]
