-- Times are nanoseconds on the run's monotonic clock (_ns), except started_ns,
-- which counts from 1970-01-01 UTC. NULL means unknown, never 0.

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

-- A trial and the sums of its last attempt, clustered by key so that scores
-- read it in order. Texts and traces are in turn.
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
	flags             TEXT, -- JSON list
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

CREATE TABLE judgment (
	id      INTEGER PRIMARY KEY,
	case_id INTEGER NOT NULL REFERENCES cases (id),
	rubric  TEXT NOT NULL,
	judge   TEXT NOT NULL,
	status  TEXT NOT NULL,
	detail  TEXT,
	verdict TEXT, -- JSON; NULL unless the status is clean or repaired
	UNIQUE (case_id, rubric, judge)
) STRICT;

-- An attempt belongs to a trial, or to a judgment (a judge's own generation).
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
	flags           TEXT, -- JSON list
	CHECK ((trial IS NULL) <> (judgment IS NULL))
) STRICT;
CREATE UNIQUE INDEX attempt_of_trial ON attempt (trial, n) WHERE trial IS NOT NULL;
CREATE UNIQUE INDEX attempt_of_judgment ON attempt (judgment, n) WHERE judgment IS NOT NULL;

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
	trace             BLOB NOT NULL, -- events and pieces, see trace.go
	PRIMARY KEY (attempt, n)
) STRICT, WITHOUT ROWID;
