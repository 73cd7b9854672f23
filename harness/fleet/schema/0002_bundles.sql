-- A chunk is what a server sends at once; what is packed into one row is a bundle.
ALTER TABLE assay.chunk RENAME TO bundle;
