-- JSON: the machine that a session ran on; NULL: an older assay did not keep it.
ALTER TABLE session ADD COLUMN host TEXT;
