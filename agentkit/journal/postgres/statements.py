"""The SQL of a journal on PostgreSQL. Each statement is a transaction of its own."""

from __future__ import annotations

from agentkit.journal.postgres.pulse import CHANNEL, LOCKS, WISHED

APPEND = """
WITH held AS (
  UPDATE agentkit.runs AS r
  SET seq = r.seq + 1, at = %(at)s, until = greatest(until, clock_timestamp() + make_interval(secs => %(lease)s))
  WHERE r.run = %(run)s AND r.epoch = %(epoch)s AND r.seq = %(seq)s
    AND (SELECT t.number FROM agentkit.trees AS t WHERE t.id = r.tree) BETWEEN %(least)s AND %(most)s
  RETURNING r.tree
), linked AS (
  UPDATE agentkit.trees AS t
  SET number = t.number + 1, hash = sha256(t.hash ||
    convert_to((t.number + 1) || ' ' || %(run)s || ' ' || %(repr)s || E'\\n' || %(body)s, 'UTF8'))
  FROM held WHERE t.id = held.tree
  RETURNING t.id, t.number, t.hash
), stored AS (
  INSERT INTO agentkit.rows (tree, number, run, at, body, hash)
  SELECT id, number, %(run)s, %(at)s, %(body)s, hash FROM linked
)
SELECT number, CASE WHEN %(sync)s THEN '' ELSE set_config('synchronous_commit', 'off', true) END FROM linked
"""
"""Adds a row if this process still holds the run (`epoch`), if the row before it is the last one that this process has
added to the run (`seq`), and if no row of the tree is missing that this process has seen (`least`)."""

RENEW = """
UPDATE agentkit.runs AS r
SET status = coalesce(%(status)s, status), updated = coalesce(%(updated)s, updated), until = greatest(until,
  clock_timestamp() + make_interval(secs => %(lease)s))
WHERE r.run = %(run)s AND r.epoch = %(epoch)s AND r.seq = %(seq)s
  AND (SELECT t.number FROM agentkit.trees AS t WHERE t.id = r.tree) >= %(least)s
RETURNING r.run
"""
"""Brings all rows to the disk that were written before, and may set the status."""

RELEASE = """
UPDATE agentkit.runs AS r SET token = '', holder = '', session = 0, until = 'epoch'
WHERE r.run = %(run)s AND r.epoch = %(epoch)s AND r.seq = %(seq)s
  AND (SELECT t.number FROM agentkit.trees AS t WHERE t.id = r.tree) >= %(least)s
RETURNING r.run
"""

STATE = """
SELECT r.epoch, r.seq, r.holder, t.number FROM agentkit.runs AS r JOIN agentkit.trees AS t ON t.id = r.tree
WHERE r.run = %s
"""

LAST = "SELECT number, body FROM agentkit.rows WHERE tree = %s AND run = %s ORDER BY number DESC LIMIT 1"

STORED = "SELECT number, run, body FROM agentkit.rows WHERE tree = %s AND number >= %s"

TREE = "INSERT INTO agentkit.trees (name) VALUES (%s) ON CONFLICT (name) DO NOTHING"

CREATE = """
INSERT INTO agentkit.runs (run, tree, info, status, updated, token, holder, session, until)
SELECT %(run)s, id, %(info)s, %(status)s, %(updated)s, %(token)s, %(holder)s, %(session)s,
  clock_timestamp() + make_interval(secs => %(lease)s)
FROM agentkit.trees WHERE name = %(tree)s FOR KEY SHARE
ON CONFLICT (run) DO NOTHING
RETURNING tree
"""

LEFT = "SELECT 1 FROM agentkit.runs JOIN agentkit.trees ON id = tree WHERE name = %(run)s AND run <> %(run)s LIMIT 1"

TAKEN = "SELECT tree, token FROM agentkit.runs WHERE run = %s"

_LIVE = f"""
SELECT objid::bigint FROM pg_locks
WHERE locktype = 'advisory' AND classid = {LOCKS} AND objsubid = 2 AND granted
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""

HELD = f"""
(r.token <> '' AND r.until > clock_timestamp() AND (
  r.session = 0 OR pg_is_in_recovery() OR r.session IN ({_LIVE})
  OR clock_timestamp() < pg_postmaster_start_time() + make_interval(secs => %(lease)s)))
"""
"""Whether a process holds run `r`: its lease is not over, and its session is there. After a start of the server no
session is there, so that all processes have the time of a lease to connect again."""

CLAIM = f"""
UPDATE agentkit.runs AS r SET epoch = r.epoch + 1, token = %(token)s, holder = %(holder)s, session = %(session)s,
  until = clock_timestamp() + make_interval(secs => %(lease)s)
WHERE r.run = %(run)s AND NOT {HELD}
RETURNING r.tree, r.epoch, r.seq
"""

HOLDER = "SELECT tree, epoch, seq, token, holder FROM agentkit.runs WHERE run = %s"

LIST = f"""
SELECT r.run, r.status, r.updated, r.info, t.name, r.holder, t.number, r.at, {HELD}
FROM agentkit.runs AS r JOIN agentkit.trees AS t ON t.id = r.tree
"""

WISH = f"""
WITH asked AS (
  INSERT INTO agentkit.wishes (run, epoch, what, text, author)
  SELECT r.run, r.epoch, %(what)s, %(text)s, %(author)s FROM agentkit.runs AS r WHERE r.run = %(run)s AND {HELD}
  RETURNING n
)
SELECT n, pg_notify('{CHANNEL}', '{WISHED}') FROM asked
"""

NAMED = "WHERE r.run = %(run)s"

BEGINS = "WHERE starts_with(r.run, %(prefix)s)"

CLOSING = f"""
SELECT r.run, l.number, l.at, l.body, l.hash, b.hash FROM agentkit.runs AS r
CROSS JOIN LATERAL (
  SELECT number, at, body, hash FROM agentkit.rows AS o WHERE o.tree = r.tree AND o.run = r.run
  ORDER BY number DESC LIMIT 1
) AS l
LEFT JOIN agentkit.rows AS b ON b.tree = r.tree AND b.number = l.number - 1
{BEGINS}
"""
"""The last row of each run, with the hash of the row before it in its tree."""

ROWS = """
SELECT t.id, t.number, t.hash, r.number, r.run, r.at, r.body, r.hash
FROM agentkit.runs AS q JOIN agentkit.trees AS t ON t.id = q.tree
  LEFT JOIN agentkit.rows AS r ON r.tree = t.id AND r.number > %(after)s
WHERE q.run = %(run)s ORDER BY r.number
"""

DELETE = f"DELETE FROM agentkit.runs AS r WHERE r.run = %(run)s AND NOT {HELD} RETURNING r.tree"

DELETE_WISHES = "DELETE FROM agentkit.wishes WHERE run = %s"
"""Another run of this name must not be asked what was asked of this one."""

TAKE_TURN = """
WITH old AS (
  DELETE FROM agentkit.rate_limits WHERE next < clock_timestamp() - interval '1 day' AND id <> %(id)s
)
INSERT INTO agentkit.rate_limits AS l VALUES (%(id)s, clock_timestamp() + make_interval(secs => %(seconds)s))
ON CONFLICT (id) DO UPDATE SET next = excluded.next
WHERE l.next NOT BETWEEN clock_timestamp() AND clock_timestamp() + make_interval(secs => %(seconds)s)
RETURNING 0.0
"""
"""Takes a turn if it is time for one; the clock of the server counts."""

NEXT_TURN = "SELECT extract(epoch FROM next - clock_timestamp())::float8 FROM agentkit.rate_limits WHERE id = %s"

LOCK_TREE = "SELECT FROM agentkit.trees WHERE id = %s FOR UPDATE"

IS_USED = "SELECT 1 FROM agentkit.runs WHERE tree = %s LIMIT 1"

DELETE_ROWS = "DELETE FROM agentkit.rows WHERE tree = %s"

DELETE_TREE = "DELETE FROM agentkit.trees WHERE id = %s"
