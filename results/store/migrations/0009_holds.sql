-- Which GPUs work for each model in a session.

-- JSON by model: which GPUs, what tells so, who else uses them, power at rest
-- with the model in memory and out of it. NULL: not known of any.
ALTER TABLE session ADD COLUMN holds TEXT;
