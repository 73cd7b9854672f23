-- The tables of a new store, as the first 18 migrations make them.
-- go test ./results/store -run TestANewStoreIsAMigratedOne -update

CREATE TABLE run (
	id            INTEGER PRIMARY KEY CHECK (id = 1),
	name          TEXT NOT NULL,
	created_ns    INTEGER,
	seed          TEXT NOT NULL, -- decimal: all 64 bits
	config        TEXT NOT NULL,
	config_digest TEXT NOT NULL,
	assay_version TEXT NOT NULL,
	git_revision  TEXT,
	synthetic     TEXT, -- JSON list of reasons
	manifest      TEXT NOT NULL -- JSON, everything
) STRICT;

CREATE TABLE item (
	seq      INTEGER PRIMARY KEY, -- order of putting
	study    TEXT NOT NULL,
	id       TEXT NOT NULL,
	type     TEXT NOT NULL,
	task     TEXT,
	modality TEXT,
	facts    TEXT, -- JSON
	UNIQUE (study, id)
) STRICT;

CREATE TABLE trial (
	id                INTEGER NOT NULL UNIQUE,
	study             TEXT NOT NULL,
	model             TEXT NOT NULL,
	item              TEXT NOT NULL,
	arm               TEXT NOT NULL,
	condition         TEXT NOT NULL,
	repeat            INTEGER NOT NULL,
	inputs            TEXT,
	attempts          INTEGER NOT NULL,
	outcome           TEXT NOT NULL CHECK (outcome IN ('answer', 'failure')),
	failure_kind      TEXT CHECK ((failure_kind IS NULL) = (outcome = 'answer')),
	ttft_ns           INTEGER,
	latency_ns        INTEGER,
	decode_ns         INTEGER,
	prompt_tokens     INTEGER,
	completion_tokens INTEGER,
	server_total_ns   INTEGER,
	flags             TEXT, cache_policy TEXT, cache_state TEXT, cache_note TEXT, invalid TEXT, first_tokens INTEGER, ttft_at_most INTEGER, latency_at_most INTEGER, first_answer_ns INTEGER, gap_median_ns INTEGER, gap_p95_ns INTEGER, gap_p99_ns INTEGER, server_prompt_ns INTEGER, server_decode_ns INTEGER, cached_tokens INTEGER, -- JSON list
	PRIMARY KEY (study, model, item, arm, condition, repeat)
) STRICT, WITHOUT ROWID;

CREATE TABLE cases (
	id     INTEGER PRIMARY KEY,
	digest TEXT NOT NULL UNIQUE,
	rubric TEXT NOT NULL,
	fields TEXT NOT NULL -- JSON: what a judge is shown
) STRICT;

CREATE TABLE case_of (
	trial   INTEGER NOT NULL REFERENCES trial (id) ON DELETE CASCADE,
	case_id INTEGER NOT NULL REFERENCES cases (id),
	PRIMARY KEY (trial, case_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE attempt (
	id              INTEGER PRIMARY KEY,
	trial           INTEGER REFERENCES trial (id) ON DELETE CASCADE,
	judgment        INTEGER REFERENCES judgment (id) ON DELETE CASCADE,
	n               INTEGER NOT NULL, -- from 0
	started_ns      INTEGER,
	outcome         TEXT NOT NULL CHECK (outcome IN ('answer', 'failure')),
	-- The output; answer is NULL where all of it is that of the last turn.
	answer          TEXT,
	reasoning       TEXT,
	finish          TEXT,
	failure_kind    TEXT CHECK ((failure_kind IS NULL) = (outcome = 'answer')),
	failure_message TEXT,
	failure_status  INTEGER, -- HTTP
	failure_partial TEXT, -- text that had arrived
	flags           TEXT, cache TEXT, served INTEGER REFERENCES served (id), session INTEGER REFERENCES session (id), -- JSON list
	CHECK ((trial IS NULL) <> (judgment IS NULL))
) STRICT;

CREATE TABLE turn (
	attempt           INTEGER NOT NULL REFERENCES attempt (id) ON DELETE CASCADE,
	n                 INTEGER NOT NULL, -- from 0
	answer            TEXT NOT NULL,
	reasoning         TEXT,
	finish            TEXT,
	sent              TEXT, -- digest of the request body
	upload_ns         INTEGER,
	ttft_ns           INTEGER,
	decode_ns         INTEGER,
	latency_ns        INTEGER,
	prompt_tokens     INTEGER,
	completion_tokens INTEGER,
	cached_tokens     INTEGER,
	reasoning_tokens  INTEGER,
	server_total_ns   INTEGER,
	server_load_ns    INTEGER,
	server_prompt_ns  INTEGER,
	server_decode_ns  INTEGER,
	server_queue_ns   INTEGER,
	server_raw        TEXT, -- JSON as received
	trace             BLOB NOT NULL, first_tokens INTEGER, ttft_at_most INTEGER, latency_at_most INTEGER, -- events and pieces, see trace.go
	PRIMARY KEY (attempt, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE session (
	id        INTEGER PRIMARY KEY,
	origin_ns INTEGER NOT NULL, -- since 1970-01-01 UTC
	hz        INTEGER, -- samples per second; NULL: nothing was watched
	problems  TEXT, -- JSON list: what was not measured, and why
	places    TEXT NOT NULL, -- JSON: local, remote or phantom, by model
	measured  INTEGER NOT NULL DEFAULT 0 -- 1: its energies are in energy and block
, linked INTEGER NOT NULL DEFAULT 0, clocks TEXT, holds TEXT, host TEXT) STRICT;

CREATE TABLE device (
	session   INTEGER NOT NULL REFERENCES session (id) ON DELETE CASCADE,
	n         INTEGER NOT NULL,
	source    TEXT NOT NULL,
	device    TEXT NOT NULL, -- UUID, PCI address, zone
	name      TEXT NOT NULL,
	kind      TEXT NOT NULL, -- gpu, cpu, memory, host
	synthetic INTEGER NOT NULL,
	about     TEXT NOT NULL, -- JSON: as the probe describes it
	baseline  TEXT, -- JSON: power at rest; NULL: not known
	stats     TEXT, -- JSON: samples, gaps, failures, time spent
	PRIMARY KEY (session, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE "sample_bundle" (
	id      INTEGER PRIMARY KEY,
	session INTEGER NOT NULL,
	device  INTEGER NOT NULL,
	from_ns INTEGER NOT NULL,
	to_ns   INTEGER NOT NULL,
	samples INTEGER NOT NULL,
	bytes   BLOB NOT NULL,
	FOREIGN KEY (session, device) REFERENCES device (session, n) ON DELETE CASCADE
) STRICT;

CREATE TABLE event (
	id      INTEGER PRIMARY KEY,
	session INTEGER REFERENCES session (id) ON DELETE CASCADE,
	at_ns   INTEGER NOT NULL, -- since 1970-01-01 UTC
	kind    TEXT NOT NULL,
	subject TEXT NOT NULL,
	text    TEXT NOT NULL
) STRICT;

CREATE TABLE served (
	id       INTEGER PRIMARY KEY,
	digest   TEXT NOT NULL UNIQUE, -- of identity
	identity TEXT NOT NULL         -- JSON
) STRICT;

CREATE TABLE energy (
	trial              INTEGER NOT NULL REFERENCES trial (id) ON DELETE CASCADE,
	part               TEXT NOT NULL CHECK (part IN ('gpu', 'cpu')),
	attempts           INTEGER NOT NULL, -- of the trial then
	held_ns            INTEGER, -- the trial's share of the time that the devices were held
	devices            INTEGER, -- how many
	gross_mj           REAL,
	uncertainty_mj     REAL,
	net_mj             REAL,
	net_uncertainty_mj REAL,
	method             TEXT,
	ticks              INTEGER,
	low_confidence     INTEGER,
	flags              TEXT, -- JSON list
	unknown            TEXT, absolute_mj REAL, net_absolute_mj REAL,
	PRIMARY KEY (trial, part)
) STRICT, WITHOUT ROWID;

CREATE TABLE judge_version (
	id      INTEGER PRIMARY KEY,
	rubric  TEXT NOT NULL,
	judge   TEXT NOT NULL,
	digest  TEXT NOT NULL, -- of about; '': not known, an older assay did not keep it
	about   TEXT, -- JSON: settings, and the digest of the prompt; NULL: not known
	current INTEGER NOT NULL CHECK (current IN (0, 1)),
	UNIQUE (rubric, judge, digest)
) STRICT;

CREATE TABLE "judgment" (
	id      INTEGER PRIMARY KEY,
	case_id INTEGER NOT NULL REFERENCES cases (id),
	version INTEGER NOT NULL REFERENCES judge_version (id),
	repeat  INTEGER NOT NULL, -- from 0; tables are made of the first
	status  TEXT NOT NULL,
	detail  TEXT,
	verdict TEXT, -- JSON; NULL unless the status is clean or repaired
	UNIQUE (case_id, version, repeat)
) STRICT;

CREATE TABLE revision (
	id INTEGER PRIMARY KEY CHECK (id = 1),
	n  INTEGER NOT NULL
) STRICT;

CREATE TABLE score_set (
	study  TEXT NOT NULL UNIQUE,
	digest TEXT NOT NULL,
	about  TEXT NOT NULL -- JSON: how to read the bytes of its scores
) STRICT;

CREATE TABLE "score_bundle" (
	study TEXT NOT NULL,
	model TEXT NOT NULL,
	n     INTEGER NOT NULL, -- from 0; in the order of the trials' keys
	bytes BLOB NOT NULL, -- see harness/score
	UNIQUE (study, model, n)
) STRICT;

CREATE TABLE added (
	mark TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;

CREATE TABLE "block" (
	session INTEGER NOT NULL REFERENCES session (id) ON DELETE CASCADE,
	study   TEXT NOT NULL,
	model   TEXT NOT NULL,
	part    TEXT NOT NULL CHECK (part IN ('gpu', 'cpu', 'machine')),
	devices INTEGER,
	about   TEXT NOT NULL, -- JSON: energy from the first trial's start to the last one's end
	PRIMARY KEY (session, study, model, part)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX attempt_of_trial ON attempt (trial, n) WHERE trial IS NOT NULL;

CREATE UNIQUE INDEX attempt_of_judgment ON attempt (judgment, n) WHERE judgment IS NOT NULL;

CREATE INDEX attempt_of_session ON attempt (session) WHERE session IS NOT NULL;

CREATE INDEX judgment_counts ON judgment (repeat, version, verdict IS NOT NULL);

CREATE INDEX bundle_of_device ON sample_bundle (session, device, from_ns);

CREATE VIEW v_failures AS
SELECT t.study, t.model, t.item, t.arm, t.condition, t.repeat,
	a.n + 1 AS attempt, t.attempts, a.n + 1 = t.attempts AS counts,
	a.failure_kind, a.failure_status AS http_status, a.failure_message, a.failure_partial,
	strftime('%Y-%m-%dT%H:%M:%SZ', a.started_ns / 1000000000, 'unixepoch') AS started_utc
FROM trial t
JOIN attempt a ON a.trial = t.id
WHERE a.outcome = 'failure';

CREATE VIEW v_turns AS
SELECT t.study, t.model, t.item, t.arm, t.condition, t.repeat,
	a.n + 1 AS attempt, a.n + 1 = t.attempts AS counts, u.n + 1 AS turn,
	round(u.upload_ns / 1e6, 3) AS upload_ms,
	round(u.ttft_ns / 1e6, 3) AS ttft_ms,
	u.ttft_at_most,
	round(u.decode_ns / 1e6, 3) AS decode_ms,
	round(u.latency_ns / 1e6, 3) AS latency_ms,
	u.latency_at_most,
	round(u.server_total_ns / 1e6, 3) AS server_total_ms,
	round(u.server_load_ns / 1e6, 3) AS server_load_ms,
	round(u.server_prompt_ns / 1e6, 3) AS server_prompt_ms,
	round(u.server_decode_ns / 1e6, 3) AS server_decode_ms,
	round((u.latency_ns - u.server_total_ns) / 1e6, 3) AS client_minus_server_ms,
	u.prompt_tokens, u.completion_tokens, u.cached_tokens, u.reasoning_tokens, u.first_tokens,
	round(nullif(max(u.completion_tokens - u.first_tokens, 0), 0) / nullif(u.decode_ns / 1e9, 0), 2) AS tokens_per_s,
	u.finish, u.answer, u.reasoning, u.sent
FROM trial t
JOIN attempt a ON a.trial = t.id
JOIN turn u ON u.attempt = a.id;

CREATE VIEW v_latency AS
WITH timed AS (
	SELECT study, model, arm, condition, completion_tokens,
		NOT EXISTS (SELECT 1 FROM json_each(flags) WHERE value IN
			('truncated', 'context_end', 'load_inside', 'cache_hit', 'concurrent', 'clock_jump', 'clock_slewed', 'stopped', 'throttled', 'other_process')) AS counts,
		ttft_ns, latency_ns
	FROM trial WHERE outcome = 'answer'
), ranked AS (
	SELECT study, model, arm, condition, completion_tokens,
		iif(counts, ttft_ns, NULL) AS ttft_ns, iif(counts, latency_ns, NULL) AS latency_ns,
		row_number() OVER w AS r,
		count(iif(counts, latency_ns, NULL)) OVER (PARTITION BY study, model, arm, condition) AS known
	FROM timed
	WINDOW w AS (PARTITION BY study, model, arm, condition ORDER BY iif(counts, latency_ns, NULL) NULLS LAST)
)
SELECT study, model, arm, condition,
	count(*) AS answers,
	count(*) - count(latency_ns) AS without_latency,
	round(avg(ttft_ns) / 1e6, 3) AS mean_ttft_ms,
	round(avg(latency_ns) / 1e6, 3) AS mean_latency_ms,
	round(avg(latency_ns) FILTER (WHERE r IN ((known + 1) / 2, (known + 2) / 2)) / 1e6, 3) AS median_latency_ms,
	round(max(latency_ns) / 1e6, 3) AS max_latency_ms,
	round(avg(completion_tokens), 2) AS mean_completion_tokens
FROM ranked
GROUP BY study, model, arm, condition;

CREATE VIEW v_judgments AS
SELECT t.study, t.model, t.item, t.arm, t.condition, t.repeat,
	v.rubric, v.judge, j.status, j.verdict, j.detail
FROM trial t
JOIN case_of o ON o.trial = t.id
JOIN judgment j ON j.case_id = o.case_id AND j.repeat = 0
JOIN judge_version v ON v.id = j.version AND v.current = 1;

CREATE VIEW v_judgments_by_version AS
SELECT t.study, t.model, t.item, t.arm, t.condition, t.repeat,
	v.rubric, v.judge, nullif(v.digest, '') AS version, v.current, j.repeat AS judged_again,
	j.status, j.verdict, j.detail
FROM trial t
JOIN case_of o ON o.trial = t.id
JOIN judgment j ON j.case_id = o.case_id
JOIN judge_version v ON v.id = j.version;

CREATE VIEW v_accuracy AS
SELECT study, model, arm, condition, judge,
	count(verdict) AS judged,
	count(*) FILTER (WHERE json_extract(verdict, '$.verdict') = 'correct') AS correct,
	round(100.0 * count(*) FILTER (WHERE json_extract(verdict, '$.verdict') = 'correct') / nullif(count(verdict), 0), 2) AS accuracy_percent,
	count(*) - count(verdict) AS without_verdict
FROM v_judgments
WHERE rubric = 'accuracy'
GROUP BY study, model, arm, condition, judge;

CREATE VIEW v_trials AS
SELECT t.study, t.model, t.item, t.arm, t.condition, t.repeat,
	t.outcome, t.failure_kind,
	CASE WHEN t.outcome = 'answer' THEN coalesce(a.answer, u.answer) END AS answer,
	CASE WHEN t.outcome = 'answer' THEN CASE WHEN a.answer IS NULL THEN u.reasoning ELSE a.reasoning END END AS reasoning,
	round(t.ttft_ns / 1e6, 3) AS ttft_ms,
	t.ttft_at_most,
	round(t.first_answer_ns / 1e6, 3) AS first_answer_ms,
	round(t.latency_ns / 1e6, 3) AS latency_ms,
	t.latency_at_most,
	round(t.decode_ns / 1e6, 3) AS decode_ms,
	round(t.decode_ns / 1e6 / nullif(max(t.completion_tokens - t.first_tokens, 0), 0), 3) AS tpot_ms,
	round(t.gap_median_ns / 1e6, 3) AS gap_median_ms,
	round(t.gap_p95_ns / 1e6, 3) AS gap_p95_ms,
	round(t.gap_p99_ns / 1e6, 3) AS gap_p99_ms,
	round(t.server_total_ns / 1e6, 3) AS server_total_ms,
	round(t.server_prompt_ns / 1e6, 3) AS server_prompt_ms,
	round(t.server_decode_ns / 1e6, 3) AS server_decode_ms,
	t.prompt_tokens, t.cached_tokens, t.completion_tokens, t.first_tokens, t.flags, t.attempts,
	t.cache_policy, t.cache_state,
	json_extract(a.cache, '$.field') AS cache_field,
	json_extract(a.cache, '$.value') AS cache_value,
	json_extract(a.cache, '$.reason') AS cache_reason,
	t.invalid AS invalid_attempts,
	strftime('%Y-%m-%dT%H:%M:%SZ', a.started_ns / 1000000000, 'unixepoch') AS started_utc
FROM trial t
JOIN attempt a ON a.trial = t.id AND a.n = t.attempts - 1
LEFT JOIN turn u ON u.attempt = a.id AND u.n = (SELECT max(n) FROM turn WHERE attempt = a.id);

CREATE VIEW v_energy AS
SELECT t.study, t.model, t.item, t.arm, t.condition, t.repeat, e.part,
	round(e.held_ns / 1e9, 4) AS held_s, e.devices,
	round(e.gross_mj / 1e3, 3) AS gross_j, round(e.uncertainty_mj / 1e3, 3) AS uncertainty_j, round(e.absolute_mj / 1e3, 3) AS absolute_j,
	round(e.net_mj / 1e3, 3) AS net_j, round(e.net_uncertainty_mj / 1e3, 3) AS net_uncertainty_j, round(e.net_absolute_mj / 1e3, 3) AS net_absolute_j,
	e.method, e.ticks, e.low_confidence, e.flags, e.unknown
FROM energy e
JOIN trial t ON t.id = e.trial AND t.attempts = e.attempts;

INSERT INTO revision VALUES (1, 0);
