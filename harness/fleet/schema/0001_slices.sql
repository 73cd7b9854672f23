CREATE TABLE assay.experiment (
	id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	name      text NOT NULL UNIQUE,
	submitted timestamptz NOT NULL DEFAULT now(),
	config    text NOT NULL, -- bench.yaml as submitted; it holds no keys
	base      bytea NOT NULL, -- a store with manifest and items, and no trials; zstd
	judged    boolean NOT NULL, -- slices that were answered are to be judged
	version   text NOT NULL, -- of the assay that submitted it
	revision  text NOT NULL
);

CREATE TABLE assay.host (
	id           text PRIMARY KEY, -- drawn once for each worker's folder
	name         text NOT NULL,
	facts        jsonb NOT NULL,
	tags         text[] NOT NULL,
	judge        boolean NOT NULL,
	version      text NOT NULL,
	revision     text NOT NULL,
	since        timestamptz NOT NULL DEFAULT now(), -- of the process
	beat         timestamptz NOT NULL DEFAULT now(),
	lease        interval NOT NULL, -- after so long a silence it loses its slice
	ended        timestamptz, -- it said that it stops
	clock_offset double precision, -- seconds: the database's clock less the host's
	clock_error  double precision, -- seconds: half of the round trip, the most that the offset can be wrong by
	models       jsonb NOT NULL DEFAULT '{}' -- identities of the models that it reached, by name
);

CREATE TABLE assay.slice (
	id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	experiment bigint NOT NULL REFERENCES assay.experiment ON DELETE CASCADE,
	kind       text NOT NULL CHECK (kind IN ('answer', 'judge')),
	model      text NOT NULL,
	part       int NOT NULL,
	parts      int NOT NULL,
	trials     int NOT NULL,
	timed      boolean NOT NULL,
	tags       text[] NOT NULL, -- what a host must have
	queue      text NOT NULL, -- of River
	job        bigint, -- of River, for the present epoch
	epoch      int NOT NULL DEFAULT 1,
	state      text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'running', 'done', 'failed')),
	stored     boolean NOT NULL DEFAULT false, -- its store was uploaded
	host       text REFERENCES assay.host, -- that has it, or did it
	started    timestamptz,
	ended      timestamptz,
	answered   int NOT NULL DEFAULT 0, -- so far, as its host says
	failed     int NOT NULL DEFAULT 0,
	tries      int NOT NULL DEFAULT 0, -- that ended in an error
	refused    int NOT NULL DEFAULT 0, -- uploads of an epoch that was over
	why        text, -- it was given out again, or failed
	UNIQUE (experiment, kind, model, part)
);
CREATE INDEX slice_open ON assay.slice (experiment, kind, model) WHERE state IN ('open', 'running');

-- A slice's store, compressed, in pieces.
CREATE TABLE assay.chunk (
	slice bigint NOT NULL REFERENCES assay.slice ON DELETE CASCADE,
	n     int NOT NULL,
	data  bytea NOT NULL,
	PRIMARY KEY (slice, n)
);
ALTER TABLE assay.chunk ALTER COLUMN data SET STORAGE EXTERNAL;

CREATE TABLE assay.trial (
	experiment bigint NOT NULL REFERENCES assay.experiment ON DELETE CASCADE,
	key        text COLLATE "C" NOT NULL,
	slice      bigint NOT NULL REFERENCES assay.slice ON DELETE CASCADE,
	failed     boolean NOT NULL,
	PRIMARY KEY (experiment, key)
);
CREATE INDEX trial_slice ON assay.trial (slice);
