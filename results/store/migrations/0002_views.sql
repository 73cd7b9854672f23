-- Views for people with a plain sqlite3. Units are in the names.

CREATE VIEW v_turns AS
SELECT t.study, t.model, t.item, t.arm, t.condition, t.repeat,
	a.n + 1 AS attempt, a.n + 1 = t.attempts AS counts, u.n + 1 AS turn,
	round(u.upload_ns / 1e6, 3) AS upload_ms,
	round(u.ttft_ns / 1e6, 3) AS ttft_ms,
	round(u.decode_ns / 1e6, 3) AS decode_ms,
	round(u.latency_ns / 1e6, 3) AS latency_ms,
	round(u.server_total_ns / 1e6, 3) AS server_total_ms,
	round(u.server_load_ns / 1e6, 3) AS server_load_ms,
	round(u.server_prompt_ns / 1e6, 3) AS server_prompt_ms,
	round(u.server_decode_ns / 1e6, 3) AS server_decode_ms,
	round((u.latency_ns - u.server_total_ns) / 1e6, 3) AS client_minus_server_ms,
	u.prompt_tokens, u.completion_tokens, u.cached_tokens, u.reasoning_tokens,
	round((u.completion_tokens - 1) / nullif(u.decode_ns / 1e9, 0), 2) AS tokens_per_s,
	u.finish, u.answer, u.reasoning, u.sent
FROM trial t
JOIN attempt a ON a.trial = t.id
JOIN turn u ON u.attempt = a.id;

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
	strftime('%Y-%m-%dT%H:%M:%SZ', a.started_ns / 1000000000, 'unixepoch') AS started_utc
FROM trial t
JOIN attempt a ON a.trial = t.id AND a.n = t.attempts - 1
LEFT JOIN turn u ON u.attempt = a.id AND u.n = (SELECT max(n) FROM turn WHERE attempt = a.id);

-- Answers only: a failure has no latency worth a mean.
CREATE VIEW v_latency AS
WITH ranked AS (
	SELECT study, model, arm, condition, ttft_ns, latency_ns, completion_tokens,
		row_number() OVER w AS r,
		count(latency_ns) OVER (PARTITION BY study, model, arm, condition) AS known
	FROM trial WHERE outcome = 'answer'
	WINDOW w AS (PARTITION BY study, model, arm, condition ORDER BY latency_ns NULLS LAST)
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

CREATE VIEW v_failures AS
SELECT t.study, t.model, t.item, t.arm, t.condition, t.repeat,
	a.n + 1 AS attempt, t.attempts, a.n + 1 = t.attempts AS counts,
	a.failure_kind, a.failure_status AS http_status, a.failure_message, a.failure_partial,
	strftime('%Y-%m-%dT%H:%M:%SZ', a.started_ns / 1000000000, 'unixepoch') AS started_utc
FROM trial t
JOIN attempt a ON a.trial = t.id
WHERE a.outcome = 'failure';

CREATE VIEW v_judgments AS
SELECT t.study, t.model, t.item, t.arm, t.condition, t.repeat,
	j.rubric, j.judge, j.status, j.verdict, j.detail
FROM trial t
JOIN case_of o ON o.trial = t.id
JOIN judgment j ON j.case_id = o.case_id;

-- Verdicts of the rubric accuracy: {"verdict": "correct" | "incorrect" |
-- "no_answer"}. What has no usable verdict is left out and counted beside.
CREATE VIEW v_accuracy AS
SELECT study, model, arm, condition, judge,
	count(verdict) AS judged,
	count(*) FILTER (WHERE json_extract(verdict, '$.verdict') = 'correct') AS correct,
	round(100.0 * count(*) FILTER (WHERE json_extract(verdict, '$.verdict') = 'correct') / nullif(count(verdict), 0), 2) AS accuracy_percent,
	count(*) - count(verdict) AS without_verdict
FROM v_judgments
WHERE rubric = 'accuracy'
GROUP BY study, model, arm, condition, judge;
