-- A chunk is what a server sends at once; what is packed into one row is a bundle.
ALTER TABLE sample_chunk RENAME TO sample_bundle;
ALTER TABLE score_chunk RENAME TO score_bundle;
DROP INDEX chunk_of_device;
CREATE INDEX bundle_of_device ON sample_bundle (session, device, from_ns);
