"""What happened, and what happens next. May import jobs.

One module per arrow of a run's life, and a room for each thing that takes several modules:

| room | what is in it |
|---|---|
| models/ | the rows |
| targets/ | calling a target, through the one egress |
| backfills/ | the moments of a range that have no run |
| holds/ | what waits under a hold, and how it is let go |
| review/ | what nobody can prove, and what people decide about it |
| letters/ | dead letters, replayed or discarded |
| trials/ | test requests |
| audits/ | what was due against what was done |
| receipts/ | what is on record of one run, signed |
| channels/ | who is told of what |
| dashboard/ | what the screens show of jobs and runs together |

In a room, views.py and api.py are the doors, forms.py and shapes.py what goes in and out by them;
the other modules are the rules that both open.
"""
