-- Of the attempt that counts, summed over its turns; gaps are quantiles of the times
-- between its chunks. NULL: not known, or stored before this was kept.
ALTER TABLE trial ADD COLUMN first_answer_ns INTEGER;
ALTER TABLE trial ADD COLUMN gap_median_ns INTEGER;
ALTER TABLE trial ADD COLUMN gap_p95_ns INTEGER;
ALTER TABLE trial ADD COLUMN gap_p99_ns INTEGER;
ALTER TABLE trial ADD COLUMN server_prompt_ns INTEGER;
ALTER TABLE trial ADD COLUMN server_decode_ns INTEGER;
ALTER TABLE trial ADD COLUMN cached_tokens INTEGER;

DROP VIEW v_trials;
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
