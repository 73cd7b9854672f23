package fleet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5"
	"github.com/klauspost/compress/zstd"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
)

// Trial is a trial that is uploaded.
type Trial struct {
	Key    string // results.Key.Name
	Failed bool
}

const (
	bundleBytes = 1 << 20 // how much of a packed store is in one row
	maxPacked   = 1 << 30 // the most that is downloaded of one
)

// Pack compresses a store.
func Pack(r io.Reader) ([]byte, error) {
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b)
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(w, r); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// unpacked is the most that so many bytes of a packed store unpack to: stores pack to a fifth or
// a tenth, and a small one has empty pages.
func unpacked(packed int) int64 { return 64<<20 + 100*int64(packed) }

// unpackStore writes what Pack compressed.
func unpackStore(w io.Writer, packed []byte) error {
	most := unpacked(len(packed))
	z, err := zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderMaxMemory(uint64(most)))
	if err != nil {
		return err
	}
	defer z.Close()
	n, err := io.Copy(w, io.LimitReader(z, most))
	if err != nil || n < most {
		return err
	}
	return fmt.Errorf("a packed store of %d bytes: expected at most %d MB when it is unpacked, found more: no assay made it", len(packed), most>>20)
}

// Store uploads a slice that is done, and completes its job, in one transaction. It may
// be called again with the same after an error: it is stored once. ErrLost: its epoch is
// over; that is counted, and nothing is stored. trials is nil of a slice that was judged.
func (f *Fleet) Store(ctx context.Context, job *Job, s slice, host string, trials []Trial, packed []byte) error {
	lost := false
	err := f.in(ctx, "uploading", func(tx pgx.Tx) error {
		var epoch int
		var state state
		var has *string
		if err := tx.QueryRow(ctx, "SELECT epoch, state, host FROM assay.slice WHERE id = $1 FOR UPDATE", s.ID).Scan(&epoch, &state, &has); err != nil {
			return err
		}
		mine := epoch == s.Epoch && has != nil && *has == host
		switch {
		case mine && state == StateDone:
			return nil // the answer to an earlier commit was lost
		case !mine || state != StateRunning:
			lost = true
			_, err := tx.Exec(ctx, "UPDATE assay.slice SET refused = refused + 1 WHERE id = $1", s.ID)
			return err
		}
		if _, err := tx.Exec(ctx, "DELETE FROM assay.bundle WHERE slice = $1", s.ID); err != nil {
			return err
		}
		for n := 0; len(packed) > 0; n++ {
			size := min(len(packed), bundleBytes)
			if _, err := tx.Exec(ctx, "INSERT INTO assay.bundle (slice, n, data) VALUES ($1, $2, $3)", s.ID, n, packed[:size]); err != nil {
				return err
			}
			packed = packed[size:]
		}
		if s.Kind == Answer {
			if err := f.answered(ctx, tx, s, trials); err != nil {
				return err
			}
		} else if _, err := tx.Exec(ctx, "UPDATE assay.slice SET answered = trials, failed = 0 WHERE id = $1", s.ID); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "UPDATE assay.slice SET state = 'done', stored = true, ended = now(), why = NULL WHERE id = $1", s.ID); err != nil {
			return err
		}
		_, err := river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job)
		if errors.Is(err, river.ErrNotFound) {
			return final{errors.New("the job is not in the queue any more")}
		}
		return err
	})
	if err == nil && lost {
		err = ErrLost
	}
	return err
}

// answered stores the keys of a slice's trials, and has it judged.
func (f *Fleet) answered(ctx context.Context, tx pgx.Tx, s slice, trials []Trial) error {
	if _, err := tx.Exec(ctx, "DELETE FROM assay.trial WHERE slice = $1", s.ID); err != nil { // of an earlier epoch that was tried again
		return err
	}
	keys, failed := make([]string, len(trials)), make([]bool, len(trials))
	bad := 0
	for i, t := range trials {
		keys[i], failed[i] = t.Key, t.Failed
		if t.Failed {
			bad++
		}
	}
	tag, err := tx.Exec(ctx, "INSERT INTO assay.trial (experiment, key, slice, failed) SELECT $1, k, $2, x FROM unnest($3::text[], $4::boolean[]) AS t (k, x) ON CONFLICT (experiment, key) DO NOTHING",
		s.Experiment, s.ID, keys, failed)
	if err != nil {
		return err
	}
	if n := int(tag.RowsAffected()); n != len(trials) || n != s.Trials {
		return final{fmt.Errorf("slice %s: expected %d trials that no other slice stored, found %d of which %d are new: the plan of this machine is another one", s, s.Trials, len(trials), n)}
	}
	if _, err := tx.Exec(ctx, "UPDATE assay.slice SET answered = $2, failed = $3 WHERE id = $1", s.ID, len(trials)-bad, bad); err != nil {
		return err
	}
	var judged bool
	if err := tx.QueryRow(ctx, "SELECT judged FROM assay.experiment WHERE id = $1", s.Experiment).Scan(&judged); err != nil || !judged {
		return err
	}
	var again int64
	err = tx.QueryRow(ctx, "SELECT id FROM assay.slice WHERE experiment = $1 AND kind = 'judge' AND model = $2 AND part = $3 FOR UPDATE", s.Experiment, s.Model, s.Part).Scan(&again)
	if errors.Is(err, pgx.ErrNoRows) {
		return f.slice(ctx, tx, s.Experiment, Judge, Part{Model: s.Model, Part: s.Part, Parts: s.Parts, Trials: s.Trials})
	}
	if err != nil {
		return err
	}
	return f.again(ctx, tx, again, "its answers are new") // what was judged before is not judged of these
}

// Load writes the store of a slice of the kind answer: as it was judged, where it was.
func (f *Fleet) Load(ctx context.Context, experiment int64, model string, part int, w io.Writer) error {
	var id int64
	if err := f.pool.QueryRow(ctx, "SELECT id FROM assay.slice WHERE experiment = $1 AND model = $2 AND part = $3 AND (kind = 'answer' AND stored OR state = 'done') ORDER BY kind = 'judge' DESC LIMIT 1",
		experiment, model, part).Scan(&id); err != nil {
		return f.fail("downloading a slice", err)
	}
	return f.Download(ctx, id, w)
}

// Download writes the store of a slice.
func (f *Fleet) Download(ctx context.Context, slice int64, w io.Writer) error {
	const what = "downloading a slice"
	var size int64
	if err := f.pool.QueryRow(ctx, "SELECT coalesce(sum(octet_length(data)), 0) FROM assay.bundle WHERE slice = $1", slice).Scan(&size); err != nil {
		return f.fail(what, err)
	}
	if size > maxPacked {
		return fmt.Errorf("a slice's packed store: expected at most %d MB, found %d: no assay made it", maxPacked>>20, size>>20)
	}
	rows, err := f.pool.Query(ctx, "SELECT data FROM assay.bundle WHERE slice = $1 ORDER BY n", slice)
	if err != nil {
		return f.fail(what, err)
	}
	parts, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
	if err != nil {
		return f.fail(what, err)
	}
	return f.fail(what, unpackStore(w, bytes.Join(parts, nil)))
}

// Upload names a slice's answers as they were uploaded last: those that were asked for again
// have another name. "": none were.
func (f *Fleet) Upload(ctx context.Context, experiment int64, model string, part int) (name string, err error) {
	err = f.pool.QueryRow(ctx, "SELECT CASE WHEN stored THEN extract(epoch FROM ended)::text ELSE '' END FROM assay.slice WHERE experiment = $1 AND model = $2 AND part = $3 AND kind = 'answer'",
		experiment, model, part).Scan(&name)
	return name, f.fail("reading a slice", err)
}

// Stored are the slices of an experiment whose answers were uploaded, one for each model
// and part, as they were judged where they were; in the order of time.
func (f *Fleet) Stored(ctx context.Context, experiment int64) ([]slice, error) {
	rows, err := f.pool.Query(ctx, "SELECT "+columns+`, s.ended FROM assay.slice s WHERE experiment = $1 AND (kind = 'judge' AND state = 'done' OR kind = 'answer' AND stored
		AND NOT EXISTS (SELECT 1 FROM assay.slice j WHERE j.experiment = s.experiment AND j.kind = 'judge' AND j.model = s.model AND j.part = s.part AND j.state = 'done')) ORDER BY s.ended, s.id`, experiment)
	if err != nil {
		return nil, f.fail("reading slices", err)
	}
	all, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (s slice, err error) { return s, r.Scan(append(s.dest(), &s.Ended)...) })
	return all, f.fail("reading slices", err)
}
