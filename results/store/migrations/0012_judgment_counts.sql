-- What reports count of all judgments, without reading their verdicts.
CREATE INDEX judgment_counts ON judgment (repeat, version, verdict IS NOT NULL);
