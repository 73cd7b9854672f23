-- What was added to this store from elsewhere and need not be brought again, as those
-- call it who add it.
CREATE TABLE added (
	mark TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;
