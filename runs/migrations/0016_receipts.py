from django.db import migrations, models
from django.db.models import Value

# One definition for every statement that moves a run; PostgreSQL puts its text in their place.
_PASSED = """
create function runs_passed(passed jsonb, state text, at timestamptz, who text) returns jsonb
language sql immutable as $$
  select case when jsonb_array_length(passed) < 200 then passed else passed - 100 end
         || jsonb_build_array(jsonb_build_array(state, extract(epoch from at), who))
$$
"""


class Migration(migrations.Migration):
    dependencies = [("runs", "0015_an_approval_is_about_a_run")]

    operations = [
        migrations.AddField(
            model_name="run",
            name="passed",
            field=models.JSONField(default=list, db_default=Value([], models.JSONField())),
        ),
        migrations.RunSQL(
            _PASSED, "drop function runs_passed(jsonb, text, timestamptz, text)"
        ),
        migrations.CreateModel(
            name='ReceiptKey',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('public', models.CharField(max_length=64, unique=True)),
                ('private', models.TextField()),
                ('created_at', models.DateTimeField()),
            ],
            options={
                'ordering': ('-id',),
            },
        ),
    ]
