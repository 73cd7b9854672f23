-- What a time rests on. first_tokens: tokens in the first chunk; NULL: several,
-- number unknown. _at_most, 0 or 1: the chunk that set the time shared a read with
-- later bytes, so that the time is an upper bound; NULL: there is no such time, or
-- it was stored before this was kept.
ALTER TABLE turn ADD COLUMN first_tokens INTEGER;
ALTER TABLE turn ADD COLUMN ttft_at_most INTEGER;
ALTER TABLE turn ADD COLUMN latency_at_most INTEGER;
ALTER TABLE trial ADD COLUMN first_tokens INTEGER;
ALTER TABLE trial ADD COLUMN ttft_at_most INTEGER;
ALTER TABLE trial ADD COLUMN latency_at_most INTEGER;

-- tokens_per_s counts the tokens that came after the first chunk.
DROP VIEW v_turns;
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

DROP VIEW v_trials;
CREATE VIEW v_trials AS
SELECT t.study, t.model, t.item, t.arm, t.condition, t.repeat,
	t.outcome, t.failure_kind,
	CASE WHEN t.outcome = 'answer' THEN coalesce(a.answer, u.answer) END AS answer,
	CASE WHEN t.outcome = 'answer' THEN CASE WHEN a.answer IS NULL THEN u.reasoning ELSE a.reasoning END END AS reasoning,
	round(t.ttft_ns / 1e6, 3) AS ttft_ms,
	t.ttft_at_most,
	round(t.latency_ns / 1e6, 3) AS latency_ms,
	t.latency_at_most,
	round(t.decode_ns / 1e6, 3) AS decode_ms,
	round(t.server_total_ns / 1e6, 3) AS server_total_ms,
	t.prompt_tokens, t.completion_tokens, t.first_tokens, t.flags, t.attempts,
	t.cache_policy, t.cache_state,
	json_extract(a.cache, '$.field') AS cache_field,
	json_extract(a.cache, '$.value') AS cache_value,
	json_extract(a.cache, '$.reason') AS cache_reason,
	t.invalid AS invalid_attempts,
	strftime('%Y-%m-%dT%H:%M:%SZ', a.started_ns / 1000000000, 'unixepoch') AS started_utc
FROM trial t
JOIN attempt a ON a.trial = t.id AND a.n = t.attempts - 1
LEFT JOIN turn u ON u.attempt = a.id AND u.n = (SELECT max(n) FROM turn WHERE attempt = a.id);
