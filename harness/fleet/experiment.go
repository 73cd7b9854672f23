package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Experiment is what several machines work on.
type Experiment struct {
	ID        int64     `json:"-"`
	Name      string    `json:"name"`
	Submitted time.Time `json:"submitted"`
	Config    string    `json:"-"` // bench.yaml as submitted
	Judged    bool      `json:"judged"`
	Version   string    `json:"version"` // of the assay that submitted it
	Revision  string    `json:"revision"`
}

// Part is a slice to be submitted.
type Part struct {
	Model       string
	Part, Parts int
	Trials      int
	Timed       bool
	Tags        []string
}

// Submit inserts an experiment with its slices and their jobs, all or nothing. base is
// its store without trials, packed (see Pack). An experiment of that name that is there
// is left as it is, and there is true.
func (f *Fleet) Submit(ctx context.Context, e Experiment, base []byte, parts []Part) (id int64, there bool, err error) {
	err = f.in(ctx, "submitting", func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(lockSubmit)); err != nil {
			return err
		}
		err := tx.QueryRow(ctx, "SELECT id FROM assay.experiment WHERE name = $1", e.Name).Scan(&id)
		if err == nil {
			there = true
			return nil
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		if err := tx.QueryRow(ctx, "INSERT INTO assay.experiment (name, config, base, judged, version, revision) VALUES ($1, $2, $3, $4, $5, $6) RETURNING id",
			e.Name, e.Config, base, e.Judged, e.Version, e.Revision).Scan(&id); err != nil {
			return err
		}
		for _, p := range parts {
			if err := f.slice(ctx, tx, id, Answer, p); err != nil {
				return err
			}
		}
		return nil
	})
	return id, there, err
}

// slice inserts a slice with its job.
func (f *Fleet) slice(ctx context.Context, tx pgx.Tx, experiment int64, kind kind, p Part) error {
	queue := Queue(experiment, kind, p.Model)
	if kind == Judge {
		queue = Queue(experiment, kind, "") // whoever judges can judge them all
	}
	w := work{Epoch: 1}
	if p.Tags == nil {
		p.Tags = []string{}
	}
	if err := tx.QueryRow(ctx, "INSERT INTO assay.slice (experiment, kind, model, part, parts, trials, timed, tags, queue) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING id",
		experiment, kind, p.Model, p.Part, p.Parts, p.Trials, p.Timed, p.Tags, queue).Scan(&w.Slice); err != nil {
		return err
	}
	return f.enqueue(ctx, tx, w, queue)
}

// Retry gives the slices out again that failed, and with trials those, too, in which a
// trial failed. It says how many.
func (f *Fleet) Retry(ctx context.Context, experiment int64, trials bool) (given int, err error) {
	err = f.in(ctx, "giving failures out again", func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `SELECT id FROM assay.slice s WHERE experiment = $1 AND kind = 'answer' AND (state = 'failed'
			OR $2 AND state = 'done' AND EXISTS (SELECT 1 FROM assay.trial t WHERE t.slice = s.id AND t.failed)) OR experiment = $1 AND kind = 'judge' AND state = 'failed' ORDER BY id FOR UPDATE`, experiment, trials)
		if err != nil {
			return err
		}
		all, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		if err != nil {
			return err
		}
		for _, id := range all {
			if _, err := tx.Exec(ctx, "UPDATE assay.slice SET tries = 0 WHERE id = $1", id); err != nil {
				return err
			}
			if err := f.again(ctx, tx, id, "tried again"); err != nil {
				return err
			}
		}
		given = len(all)
		return nil
	})
	return given, err
}

// Experiments are all that were submitted, the oldest first.
func (f *Fleet) Experiments(ctx context.Context) ([]Experiment, error) {
	rows, err := f.pool.Query(ctx, "SELECT id, name, submitted, config, judged, version, revision FROM assay.experiment ORDER BY id")
	if err != nil {
		return nil, f.fail("reading experiments", err)
	}
	all, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (e Experiment, err error) {
		return e, r.Scan(&e.ID, &e.Name, &e.Submitted, &e.Config, &e.Judged, &e.Version, &e.Revision)
	})
	return all, f.fail("reading experiments", err)
}

// Experiment finds one by name; with an empty name the only one there is.
func (f *Fleet) Experiment(ctx context.Context, name string) (Experiment, error) {
	all, err := f.Experiments(ctx)
	if err != nil {
		return Experiment{}, err
	}
	var names string
	for _, e := range all {
		if e.Name == name || name == "" && len(all) == 1 {
			return e, nil
		}
		names += " " + e.Name
	}
	switch {
	case len(all) == 0:
		return Experiment{}, errors.New("no experiment was submitted yet: assay fleet submit -c bench.yaml does")
	case name == "":
		return Experiment{}, fmt.Errorf("expected the name of one of the experiments:%s", names)
	}
	return Experiment{}, fmt.Errorf("there is no experiment %s; there are:%s", name, names)
}

// Base is an experiment's store without trials, packed.
func (f *Fleet) Base(ctx context.Context, experiment int64) ([]byte, error) {
	var b []byte
	err := f.pool.QueryRow(ctx, "SELECT base FROM assay.experiment WHERE id = $1", experiment).Scan(&b)
	return b, f.fail("reading the experiment", err)
}

// Count is how far the slices of a model are.
type Count struct {
	Kind   kind   `json:"kind"`
	Model  string `json:"model"`
	State  state  `json:"state"`
	Slices int    `json:"slices"`
	Trials int    `json:"trials"`
	// Answered and Failed trials, of slices that run as their hosts said last.
	Answered int     `json:"answered"`
	Failed   int     `json:"failed"`
	Epochs   int     `json:"given_again"`   // how often slices were given out again
	Refused  int     `json:"refused"`       // uploads of an epoch that was over
	Why      string  `json:"why,omitempty"` // of those that failed, one
	Seconds  float64 `json:"seconds"`       // that the slices which are done took, added up
}

// Progress counts slices by kind, model and state.
func (f *Fleet) Progress(ctx context.Context, experiment int64) ([]Count, error) {
	rows, err := f.pool.Query(ctx, `SELECT kind, model, state, count(*), sum(trials), sum(answered), sum(failed), sum(epoch - 1), sum(refused), coalesce(min(why) FILTER (WHERE state = 'failed'), ''),
		coalesce(sum(extract(epoch FROM ended - started)) FILTER (WHERE state = 'done'), 0)::float8
		FROM assay.slice WHERE experiment = $1 GROUP BY kind, model, state ORDER BY kind, model, state`, experiment)
	if err != nil {
		return nil, f.fail("reading slices", err)
	}
	all, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (c Count, err error) {
		return c, r.Scan(&c.Kind, &c.Model, &c.State, &c.Slices, &c.Trials, &c.Answered, &c.Failed, &c.Epochs, &c.Refused, &c.Why, &c.Seconds)
	})
	return all, f.fail("reading slices", err)
}

// wanted are slices that are open, of one model.
type wanted struct {
	Model   string
	Tags    []string
	Timed   bool
	Open    int
	Running int // of the model, on any host
}

// Wanted are the models of an experiment with open slices, those first that fewest
// hosts work on. Of judging there is one, without a name.
func (f *Fleet) Wanted(ctx context.Context, experiment int64, kind kind) ([]wanted, error) {
	rows, err := f.pool.Query(ctx, `SELECT CASE WHEN kind = 'judge' THEN '' ELSE model END AS m, tags, bool_or(timed), count(*) FILTER (WHERE state = 'open'), count(*) FILTER (WHERE state = 'running')
		FROM assay.slice WHERE experiment = $1 AND kind = $2 AND state IN ('open', 'running') GROUP BY m, tags HAVING count(*) FILTER (WHERE state = 'open') > 0
		ORDER BY count(*) FILTER (WHERE state = 'running'), count(*) FILTER (WHERE state = 'open') DESC, m`, experiment, kind)
	if err != nil {
		return nil, f.fail("looking for work", err)
	}
	all, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (w wanted, err error) {
		return w, r.Scan(&w.Model, &w.Tags, &w.Timed, &w.Open, &w.Running)
	})
	return all, f.fail("looking for work", err)
}

// OpenIn is how many slices of a queue nobody has.
func (f *Fleet) OpenIn(ctx context.Context, queue string) (n int, err error) {
	err = f.pool.QueryRow(ctx, "SELECT count(*) FROM assay.slice WHERE queue = $1 AND state = 'open'", queue).Scan(&n)
	return n, f.fail("looking for work", err)
}
