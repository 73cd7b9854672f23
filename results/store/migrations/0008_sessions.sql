-- Which session an attempt was made in, by its number: wall time is for people,
-- because it can be set. Sessions from before are told by wall time (linked 0).
ALTER TABLE session ADD COLUMN linked INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attempt ADD COLUMN session INTEGER REFERENCES session (id);
CREATE INDEX attempt_of_session ON attempt (session) WHERE session IS NOT NULL;

-- JSON: what the machine's other clocks did beside the session's; NULL: not known.
ALTER TABLE session ADD COLUMN clocks TEXT;

-- A chunk that still grows is stored again and again, each time in place of what
-- was stored from its begin on.
DROP INDEX chunk_of_device;
CREATE INDEX chunk_of_device ON sample_chunk (session, device, from_ns);

-- An unknown time was 0 in held_ns. Every session is measured anew from its samples.
DROP VIEW v_energy;
DROP TABLE energy;
DELETE FROM block;
UPDATE session SET measured = 0;

-- What a trial's last attempt took. NULL: unknown, and unknown says why.
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
	unknown            TEXT,
	PRIMARY KEY (trial, part)
) STRICT, WITHOUT ROWID;

CREATE VIEW v_energy AS
SELECT t.study, t.model, t.item, t.arm, t.condition, t.repeat, e.part,
	round(e.held_ns / 1e9, 4) AS held_s, e.devices,
	round(e.gross_mj / 1e3, 3) AS gross_j, round(e.uncertainty_mj / 1e3, 3) AS uncertainty_j,
	round(e.net_mj / 1e3, 3) AS net_j, round(e.net_uncertainty_mj / 1e3, 3) AS net_uncertainty_j,
	e.method, e.ticks, e.low_confidence, e.flags, e.unknown
FROM energy e
JOIN trial t ON t.id = e.trial AND t.attempts = e.attempts;

-- Answers only, and of those the times that count: a disturbed time is none.
DROP VIEW v_latency;
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
