"""The fault lab: real processes, injured on purpose, and what must hold after each injury.

`python -m tests.faults --list` names the scenarios. The parts, from the ground up:

- `proxy.py`   a TCP proxy that delays, cuts, slices, swallows and resets.
- `client.py`  a page in Python, as light as it can be: it keeps what it recorded until it is committed.
  `entry.py`, `link.py`, `kept_answer.py` and `exchange.py` are its parts.
- `site.py`    a whole site in a folder of its own: web process, workers, Redis, database.
- `invariants.py` I1 to I6, looked at after every scenario.
- `lab.py`     what a scenario gets, and the decorator that names it.
- `runner.py`  one forked process a scenario, several at once, one line each.
- `scenarios_*.py` the scenarios themselves.
"""
