package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

// Host is a worker.
type Host struct {
	ID       string          `json:"id"` // drawn once for each worker's folder
	Name     string          `json:"name"`
	Facts    json.RawMessage `json:"facts"` // of the machine
	Tags     []string        `json:"tags"`
	Judge    bool            `json:"judge"` // it judges, and asks no models
	Version  string          `json:"version"`
	Revision string          `json:"revision"`
	Models   json.RawMessage `json:"models"` // identities of the models that it reached, by name

	Lease  time.Duration `json:"lease_ns"` // after so long a silence it loses its slice
	Since  time.Time     `json:"since"`    // of the process, by the database's clock
	Silent time.Duration `json:"silent_ns"`
	Ended  bool          `json:"ended"` // it said that it stops
	// Offset is the database's clock less the host's, and Error the most that it can be
	// wrong by, in seconds; nil: not measured yet.
	Offset *float64 `json:"clock_offset_s"`
	Error  *float64 `json:"clock_error_s"`
	Slice  string   `json:"slice,omitempty"` // that it works on
}

// Register tells of a worker that begins. What an earlier process of the same folder
// had goes on at once, and is not waited for.
func (f *Fleet) Register(ctx context.Context, h Host) error {
	return f.in(ctx, "registering this host", func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO assay.host (id, name, facts, tags, judge, version, revision, lease) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
			ON CONFLICT (id) DO UPDATE SET name = $2, facts = $3, tags = $4, judge = $5, version = $6, revision = $7, lease = $8, since = now(), beat = now(), ended = NULL`,
			h.ID, h.Name, h.Facts, h.Tags, h.Judge, h.Version, h.Revision, h.Lease)
		if err != nil {
			return err
		}
		rows, err := tx.Query(ctx, "SELECT id FROM assay.slice WHERE host = $1 AND state = 'running' ORDER BY id FOR UPDATE", h.ID)
		if err != nil {
			return err
		}
		had, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		if err != nil {
			return err
		}
		for _, id := range had {
			if err := f.again(ctx, tx, id, "host "+h.Name+" began anew"); err != nil {
				return err
			}
		}
		return nil
	})
}

// Reached notes who serves a model on a host.
func (f *Fleet) Reached(ctx context.Context, host, model string, identity any) error {
	b, err := json.Marshal(map[string]any{model: identity})
	if err != nil {
		return err
	}
	_, err = f.pool.Exec(ctx, "UPDATE assay.host SET models = models || $2::jsonb WHERE id = $1", host, b)
	return f.fail("telling of a model", err)
}

// Served is who served a model on the host, another one, that stored the first slice of it; "": none has.
func (f *Fleet) Served(ctx context.Context, experiment int64, model, except string) (host string, identity json.RawMessage, err error) {
	err = f.pool.QueryRow(ctx, `SELECT h.name, h.models -> $2 FROM assay.slice s JOIN assay.host h ON h.id = s.host
		WHERE s.experiment = $1 AND s.model = $2 AND s.kind = 'answer' AND s.state = 'done' AND h.id <> $3 AND h.models -> $2 IS NOT NULL ORDER BY s.ended LIMIT 1`, experiment, model, except).Scan(&host, &identity)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil, nil
	}
	return host, identity, f.fail("asking who served a model", err)
}

// At is what a host works on, and how far it is.
type At struct {
	Slice    slice
	Answered int // trials in its store
	Failed   int
}

// Beat says that a host lives, and how far it is; at is nil while it has no slice.
// ErrLost: it has the slice no longer.
func (f *Fleet) Beat(ctx context.Context, host string, at *At) (clock, error) {
	c, err := f.clock(ctx)
	if err != nil {
		return c, err
	}
	const what = "telling that this host lives"
	if _, err := f.pool.Exec(ctx, "UPDATE assay.host SET beat = now(), ended = NULL, clock_offset = $2, clock_error = $3 WHERE id = $1", host, c.Offset.Seconds(), c.Error.Seconds()); err != nil || at == nil {
		return c, f.fail(what, err)
	}
	tag, err := f.pool.Exec(ctx, "UPDATE assay.slice SET answered = $4, failed = $5 WHERE id = $1 AND epoch = $2 AND host = $3 AND state IN ('running', 'done')",
		at.Slice.ID, at.Slice.Epoch, host, at.Answered, at.Failed)
	if err == nil && tag.RowsAffected() == 0 {
		err = ErrLost
	}
	return c, f.fail(what, err)
}

// Leave says that a host stops.
func (f *Fleet) Leave(ctx context.Context, host string) error {
	_, err := f.pool.Exec(ctx, "UPDATE assay.host SET ended = now() WHERE id = $1", host)
	return f.fail("telling that this host stops", err)
}

// Hosts are all workers that there ever were, by name.
func (f *Fleet) Hosts(ctx context.Context) ([]Host, error) {
	rows, err := f.pool.Query(ctx, `SELECT h.id, h.name, h.facts, h.tags, h.judge, h.version, h.revision, h.models, h.lease, h.since, extract(epoch FROM clock_timestamp() - h.beat)::float8,
		h.ended IS NOT NULL, h.clock_offset, h.clock_error, coalesce((SELECT min(s.model || ' ' || s.part || '/' || s.parts) FROM assay.slice s WHERE s.host = h.id AND s.state = 'running'), '')
		FROM assay.host h ORDER BY h.name, h.id`)
	if err != nil {
		return nil, f.fail("reading hosts", err)
	}
	all, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (h Host, err error) {
		var silent float64
		err = r.Scan(&h.ID, &h.Name, &h.Facts, &h.Tags, &h.Judge, &h.Version, &h.Revision, &h.Models, &h.Lease, &h.Since, &silent, &h.Ended, &h.Offset, &h.Error, &h.Slice)
		h.Silent = time.Duration(silent * float64(time.Second))
		return h, err
	})
	return all, f.fail("reading hosts", err)
}
