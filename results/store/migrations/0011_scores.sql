-- What each trial scored, made of trials, judgments, energies and facts of items.
-- It can be made again from them at any time.

-- Raised by every transaction that changes what scores are made of.
CREATE TABLE revision (
	id INTEGER PRIMARY KEY CHECK (id = 1),
	n  INTEGER NOT NULL
) STRICT;
INSERT INTO revision VALUES (1, 0);

-- One for each study whose scores are whole. The digest says of what they were made.
CREATE TABLE score_set (
	study  TEXT NOT NULL UNIQUE,
	digest TEXT NOT NULL,
	about  TEXT NOT NULL -- JSON: how to read the bytes of its scores
) STRICT;

CREATE TABLE score (
	trial INTEGER PRIMARY KEY REFERENCES trial (id) ON DELETE CASCADE,
	bytes BLOB NOT NULL -- see harness/score
) STRICT;
