-- Who answered: what a server said of itself and of the model that it served.
CREATE TABLE served (
	id       INTEGER PRIMARY KEY,
	digest   TEXT NOT NULL UNIQUE, -- of identity
	identity TEXT NOT NULL         -- JSON
) STRICT;

-- NULL: not known, or nothing was sent.
ALTER TABLE attempt ADD COLUMN served INTEGER REFERENCES served (id);
