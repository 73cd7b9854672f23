-- What was watched while trials ran, and what they took.

-- One call of run on one clock: _ns below counts from its origin.
CREATE TABLE session (
	id        INTEGER PRIMARY KEY,
	origin_ns INTEGER NOT NULL, -- since 1970-01-01 UTC
	hz        INTEGER, -- samples per second; NULL: nothing was watched
	problems  TEXT, -- JSON list: what was not measured, and why
	places    TEXT NOT NULL, -- JSON: local, remote or phantom, by model
	measured  INTEGER NOT NULL DEFAULT 0 -- 1: its energies are in energy and block
) STRICT;

CREATE TABLE device (
	session   INTEGER NOT NULL REFERENCES session (id) ON DELETE CASCADE,
	n         INTEGER NOT NULL,
	source    TEXT NOT NULL,
	device    TEXT NOT NULL, -- UUID, PCI address, zone
	name      TEXT NOT NULL,
	kind      TEXT NOT NULL, -- gpu, cpu, memory, host
	synthetic INTEGER NOT NULL,
	about     TEXT NOT NULL, -- JSON: as the probe describes it
	baseline  TEXT, -- JSON: power at rest; NULL: not known
	stats     TEXT, -- JSON: samples, gaps, failures, time spent
	PRIMARY KEY (session, n)
) STRICT, WITHOUT ROWID;

-- Packed samples.
CREATE TABLE sample_chunk (
	id      INTEGER PRIMARY KEY,
	session INTEGER NOT NULL,
	device  INTEGER NOT NULL,
	from_ns INTEGER NOT NULL,
	to_ns   INTEGER NOT NULL,
	samples INTEGER NOT NULL,
	bytes   BLOB NOT NULL,
	FOREIGN KEY (session, device) REFERENCES device (session, n) ON DELETE CASCADE
) STRICT;
CREATE INDEX chunk_of_device ON sample_chunk (session, device);

-- What a trial's last attempt took. NULL: unknown, and unknown says why.
CREATE TABLE energy (
	trial              INTEGER NOT NULL REFERENCES trial (id) ON DELETE CASCADE,
	part               TEXT NOT NULL CHECK (part IN ('gpu', 'cpu')),
	attempts           INTEGER NOT NULL, -- of the trial then
	held_ns            INTEGER NOT NULL, -- the trial's share of the time that the devices were held
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

CREATE TABLE block (
	session INTEGER NOT NULL REFERENCES session (id) ON DELETE CASCADE,
	study   TEXT NOT NULL,
	model   TEXT NOT NULL,
	part    TEXT NOT NULL CHECK (part IN ('gpu', 'cpu')),
	devices INTEGER,
	about   TEXT NOT NULL, -- JSON: energy from the first trial's start to the last one's end
	PRIMARY KEY (session, study, model, part)
) STRICT, WITHOUT ROWID;

-- What happened to servers.
CREATE TABLE event (
	id      INTEGER PRIMARY KEY,
	session INTEGER REFERENCES session (id) ON DELETE CASCADE,
	at_ns   INTEGER NOT NULL, -- since 1970-01-01 UTC
	kind    TEXT NOT NULL,
	subject TEXT NOT NULL,
	text    TEXT NOT NULL
) STRICT;

CREATE VIEW v_energy AS
SELECT t.study, t.model, t.item, t.arm, t.condition, t.repeat, e.part,
	round(e.held_ns / 1e9, 4) AS held_s, e.devices,
	round(e.gross_mj / 1e3, 3) AS gross_j, round(e.uncertainty_mj / 1e3, 3) AS uncertainty_j,
	round(e.net_mj / 1e3, 3) AS net_j, round(e.net_uncertainty_mj / 1e3, 3) AS net_uncertainty_j,
	e.method, e.ticks, e.low_confidence, e.flags, e.unknown
FROM energy e
JOIN trial t ON t.id = e.trial AND t.attempts = e.attempts;
