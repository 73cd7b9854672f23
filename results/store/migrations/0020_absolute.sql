-- Uncertainties with gain and offset of the sensor, beside those within the card.
ALTER TABLE energy ADD COLUMN absolute_mj REAL; -- NULL: not known, or an older assay did not work it out
ALTER TABLE energy ADD COLUMN net_absolute_mj REAL;

DROP VIEW v_energy;
CREATE VIEW v_energy AS
SELECT t.study, t.model, t.item, t.arm, t.condition, t.repeat, e.part,
	round(e.held_ns / 1e9, 4) AS held_s, e.devices,
	round(e.gross_mj / 1e3, 3) AS gross_j, round(e.uncertainty_mj / 1e3, 3) AS uncertainty_j, round(e.absolute_mj / 1e3, 3) AS absolute_j,
	round(e.net_mj / 1e3, 3) AS net_j, round(e.net_uncertainty_mj / 1e3, 3) AS net_uncertainty_j, round(e.net_absolute_mj / 1e3, 3) AS net_absolute_j,
	e.method, e.ticks, e.low_confidence, e.flags, e.unknown
FROM energy e
JOIN trial t ON t.id = e.trial AND t.attempts = e.attempts;
