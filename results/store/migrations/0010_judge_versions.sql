-- What a judge was when it judged under a rubric: its settings and the prompt.
-- Judgments of what it was before stay, and tables are made of the current ones.
CREATE TABLE judge_version (
	id      INTEGER PRIMARY KEY,
	rubric  TEXT NOT NULL,
	judge   TEXT NOT NULL,
	digest  TEXT NOT NULL, -- of about; '': not known, an older assay did not keep it
	about   TEXT, -- JSON: settings, and the digest of the prompt; NULL: not known
	current INTEGER NOT NULL CHECK (current IN (0, 1)),
	UNIQUE (rubric, judge, digest)
) STRICT;
INSERT INTO judge_version (rubric, judge, digest, current)
SELECT DISTINCT rubric, judge, '', 1 FROM judgment ORDER BY rubric, judge;

DROP VIEW v_accuracy;
DROP VIEW v_judgments;

CREATE TABLE judgment_keyed (
	id      INTEGER PRIMARY KEY,
	case_id INTEGER NOT NULL REFERENCES cases (id),
	version INTEGER NOT NULL REFERENCES judge_version (id),
	repeat  INTEGER NOT NULL, -- from 0; tables are made of the first
	status  TEXT NOT NULL,
	detail  TEXT,
	verdict TEXT, -- JSON; NULL unless the status is clean or repaired
	UNIQUE (case_id, version, repeat)
) STRICT;
INSERT INTO judgment_keyed
SELECT j.id, j.case_id, v.id, 0, j.status, j.detail, j.verdict
FROM judgment j CROSS JOIN judge_version v ON v.rubric = j.rubric AND v.judge = j.judge AND v.digest = ''
ORDER BY j.id;
DROP TABLE judgment;
ALTER TABLE judgment_keyed RENAME TO judgment;

CREATE VIEW v_judgments AS
SELECT t.study, t.model, t.item, t.arm, t.condition, t.repeat,
	v.rubric, v.judge, j.status, j.verdict, j.detail
FROM trial t
JOIN case_of o ON o.trial = t.id
JOIN judgment j ON j.case_id = o.case_id AND j.repeat = 0
JOIN judge_version v ON v.id = j.version AND v.current = 1;

-- Every judgment, also of what a judge was before, and of cases judged again.
CREATE VIEW v_judgments_by_version AS
SELECT t.study, t.model, t.item, t.arm, t.condition, t.repeat,
	v.rubric, v.judge, nullif(v.digest, '') AS version, v.current, j.repeat AS judged_again,
	j.status, j.verdict, j.detail
FROM trial t
JOIN case_of o ON o.trial = t.id
JOIN judgment j ON j.case_id = o.case_id
JOIN judge_version v ON v.id = j.version;

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
