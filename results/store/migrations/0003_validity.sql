-- What took an attempt's time away, and what the server's caches did.

-- JSON: policy, state, field, value, reason, nonces, calibration.
ALTER TABLE attempt ADD COLUMN cache TEXT;

-- Of the attempt that counts; NULL: it was not timed.
ALTER TABLE trial ADD COLUMN cache_policy TEXT;
ALTER TABLE trial ADD COLUMN cache_state TEXT;
-- What proves the state, or why nothing does.
ALTER TABLE trial ADD COLUMN cache_note TEXT;
-- JSON: per attempt that has any, the flags that took its time away.
ALTER TABLE trial ADD COLUMN invalid TEXT;

DROP VIEW v_trials;
CREATE VIEW v_trials AS
SELECT t.study, t.model, t.item, t.arm, t.condition, t.repeat,
	t.outcome, t.failure_kind,
	CASE WHEN t.outcome = 'answer' THEN coalesce(a.answer, u.answer) END AS answer,
	CASE WHEN t.outcome = 'answer' THEN CASE WHEN a.answer IS NULL THEN u.reasoning ELSE a.reasoning END END AS reasoning,
	round(t.ttft_ns / 1e6, 3) AS ttft_ms,
	round(t.latency_ns / 1e6, 3) AS latency_ms,
	round(t.decode_ns / 1e6, 3) AS decode_ms,
	round(t.server_total_ns / 1e6, 3) AS server_total_ms,
	t.prompt_tokens, t.completion_tokens, t.flags, t.attempts,
	t.cache_policy, t.cache_state,
	json_extract(a.cache, '$.field') AS cache_field,
	json_extract(a.cache, '$.value') AS cache_value,
	json_extract(a.cache, '$.reason') AS cache_reason,
	t.invalid AS invalid_attempts,
	strftime('%Y-%m-%dT%H:%M:%SZ', a.started_ns / 1000000000, 'unixepoch') AS started_utc
FROM trial t
JOIN attempt a ON a.trial = t.id AND a.n = t.attempts - 1
LEFT JOIN turn u ON u.attempt = a.id AND u.n = (SELECT max(n) FROM turn WHERE attempt = a.id);

-- Answers only, and of those the times that count: a disturbed time is none.
DROP VIEW v_latency;
CREATE VIEW v_latency AS
WITH timed AS (
	SELECT study, model, arm, condition, completion_tokens,
		NOT EXISTS (SELECT 1 FROM json_each(flags) WHERE value IN
			('truncated', 'load_inside', 'cache_hit', 'concurrent', 'clock_jump', 'throttled', 'other_process')) AS counts,
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
