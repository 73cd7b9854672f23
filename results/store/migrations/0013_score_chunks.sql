-- What trials scored, many to a row: of a million trials, rows are what takes time.
-- Scores are made again of everything else, so none are kept.
DELETE FROM score_set;
DROP TABLE score;
CREATE TABLE score_chunk (
	study TEXT NOT NULL,
	model TEXT NOT NULL,
	n     INTEGER NOT NULL, -- from 0; in the order of the trials' keys
	bytes BLOB NOT NULL, -- see harness/score
	UNIQUE (study, model, n)
) STRICT;
