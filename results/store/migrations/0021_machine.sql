-- A block has a third part: the whole machine, by a meter in front of it.
CREATE TABLE block_of (
	session INTEGER NOT NULL REFERENCES session (id) ON DELETE CASCADE,
	study   TEXT NOT NULL,
	model   TEXT NOT NULL,
	part    TEXT NOT NULL CHECK (part IN ('gpu', 'cpu', 'machine')),
	devices INTEGER,
	about   TEXT NOT NULL, -- JSON: energy from the first trial's start to the last one's end
	PRIMARY KEY (session, study, model, part)
) STRICT, WITHOUT ROWID;
INSERT INTO block_of SELECT session, study, model, part, devices, about FROM block;
DROP TABLE block;
ALTER TABLE block_of RENAME TO block;
