package fleet

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
)

// kind is what is done with a slice.
type kind string

const (
	Answer kind = "answer" // the model is asked
	Judge  kind = "judge"  // its answers are judged
)

// state is how far a slice is.
type state string

const (
	stateOpen    state = "open" // nobody has it
	StateRunning state = "running"
	StateDone    state = "done"   // it is stored
	stateFailed  state = "failed" // it ended in errors mostTries times
)

// mostTries is how often a slice may end in an error.
const mostTries = 5

// slice is one part of the items for one model.
type slice struct {
	ID         int64    `json:"id"`
	Experiment int64    `json:"-"`
	Kind       kind     `json:"kind"`
	Model      string   `json:"model"`
	Part       int      `json:"part"` // from 1
	Parts      int      `json:"parts"`
	Trials     int      `json:"trials"`
	Timed      bool     `json:"timed"` // nothing else may run on its GPUs
	Tags       []string `json:"tags"`  // what a host must have
	Epoch      int      `json:"epoch"`
	Stored     bool     `json:"stored"` // its answers were uploaded, in an earlier epoch where it is not done
	// Ended is when its store was uploaded, or when it failed since; Stored alone knows it.
	Ended time.Time `json:"-"`
}

func (s slice) String() string {
	what := fmt.Sprintf("%s %d/%d", s.Model, s.Part, s.Parts)
	if s.Kind == Judge {
		what += " (judging)"
	}
	return what
}

// work is a job of River: one epoch of a slice.
type work struct {
	Slice int64 `json:"slice"`
	Epoch int   `json:"epoch"`
}

// Kind implements river.JobArgs.
func (work) Kind() string { return "slice" }

// Queue is the queue of River that slices of a kind and model are in.
func Queue(experiment int64, kind kind, model string) string {
	h := fnv.New64a()
	h.Write([]byte(model))
	return fmt.Sprintf("e%d-%s-%016x", experiment, kind, h.Sum64())
}

// ErrLost is a slice that was given to another host, or is done.
var ErrLost = errors.New("the slice was given to another host")

const columns = "s.id, s.experiment, s.kind, s.model, s.part, s.parts, s.trials, s.timed, s.tags, s.epoch, s.stored"

func (s *slice) dest() []any {
	return []any{&s.ID, &s.Experiment, &s.Kind, &s.Model, &s.Part, &s.Parts, &s.Trials, &s.Timed, &s.Tags, &s.Epoch, &s.Stored}
}

// Claim takes the slice of a job for a host. ErrLost: the job is of an epoch that is over.
func (f *Fleet) Claim(ctx context.Context, w work, host string) (slice, error) {
	var s slice
	err := f.in(ctx, "claiming a slice", func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, `UPDATE assay.slice s SET state = 'running', host = $3, started = now(), answered = 0, failed = 0
			WHERE id = $1 AND epoch = $2 AND (state = 'open' OR state = 'running' AND host = $3) RETURNING `+columns, w.Slice, w.Epoch, host).Scan(s.dest()...)
		if errors.Is(err, pgx.ErrNoRows) {
			return ErrLost
		}
		return err
	})
	return s, err
}

// again gives a slice the next epoch and another job. The caller's transaction has
// locked its row.
func (f *Fleet) again(ctx context.Context, tx pgx.Tx, id int64, why string) error {
	var w work
	var queue string
	var job *int64
	err := tx.QueryRow(ctx, `UPDATE assay.slice SET epoch = epoch + 1, state = 'open', host = NULL, why = $2, answered = 0, failed = 0 WHERE id = $1
		RETURNING id, epoch, queue, job`, id, why).Scan(&w.Slice, &w.Epoch, &queue, &job)
	if err != nil {
		return err
	}
	if err := closeJob(ctx, tx, job); err != nil {
		return err
	}
	return f.enqueue(ctx, tx, w, queue)
}

// closeJob ends a job of River that nobody is to work on. One that runs where nothing
// is heard from can be ended in no other way.
func closeJob(ctx context.Context, tx pgx.Tx, job *int64) error {
	if job == nil {
		return nil
	}
	_, err := tx.Exec(ctx, "UPDATE assay.river_job SET state = 'cancelled', finalized_at = now() WHERE id = $1 AND finalized_at IS NULL", *job)
	return err
}

// enqueue inserts the job of a slice's epoch.
func (f *Fleet) enqueue(ctx context.Context, tx pgx.Tx, w work, queue string) error {
	res, err := f.queue.InsertTx(ctx, tx, w, &river.InsertOpts{Queue: queue, MaxAttempts: 1})
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "UPDATE assay.slice SET job = $2 WHERE id = $1", w.Slice, res.Job.ID)
	return err
}

// lock locks a slice's row. ErrLost: it is not in that epoch, or not the host's.
func lock(ctx context.Context, tx pgx.Tx, s slice, host string) error {
	var epoch int
	var state state
	var has *string
	if err := tx.QueryRow(ctx, "SELECT epoch, state, host FROM assay.slice WHERE id = $1 FOR UPDATE", s.ID).Scan(&epoch, &state, &has); err != nil {
		return err
	}
	if epoch != s.Epoch || state != StateRunning || has == nil || *has != host {
		return ErrLost
	}
	return nil
}

// Release gives a slice back that its host does not go on with.
func (f *Fleet) Release(ctx context.Context, s slice, host, why string) error {
	return f.in(ctx, "giving a slice back", func(tx pgx.Tx) error {
		if err := lock(ctx, tx, s, host); err != nil {
			return err
		}
		return f.again(ctx, tx, s.ID, why)
	})
}

// Fail notes that a slice ended in an error. It is given out again, mostTries times in all.
func (f *Fleet) Fail(ctx context.Context, s slice, host, why string) error {
	return f.in(ctx, "noting a failure", func(tx pgx.Tx) error {
		if err := lock(ctx, tx, s, host); err != nil {
			return err
		}
		var tries int
		if err := tx.QueryRow(ctx, "UPDATE assay.slice SET tries = tries + 1 WHERE id = $1 RETURNING tries", s.ID).Scan(&tries); err != nil {
			return err
		}
		if tries < mostTries {
			return f.again(ctx, tx, s.ID, why)
		}
		var job *int64
		if err := tx.QueryRow(ctx, "UPDATE assay.slice SET state = 'failed', why = $2, ended = now() WHERE id = $1 RETURNING job", s.ID, why).Scan(&job); err != nil {
			return err
		}
		return closeJob(ctx, tx, job)
	})
}

// Reap gives slices out again whose host was silent for longer than it said that it may
// be, or that for as long as lease had no job which anybody could get. One process at a
// time does; the others do nothing. That the database was down is nobody's silence. Jobs that
// ended a day ago are deleted.
func (f *Fleet) Reap(ctx context.Context, lease time.Duration) (given int, err error) {
	err = f.in(ctx, "looking for silent hosts", func(tx pgx.Tx) error {
		var mine bool
		if err := tx.QueryRow(ctx, "SELECT pg_try_advisory_xact_lock($1)", int64(lockReap)).Scan(&mine); err != nil || !mine {
			return err
		}
		rows, err := tx.Query(ctx, `SELECT s.id, CASE WHEN s.state = 'running' THEN 'host ' || h.name || ' was silent' ELSE 'its job was lost' END
			FROM assay.slice s LEFT JOIN assay.host h ON h.id = s.host LEFT JOIN assay.river_job j ON j.id = s.job
			WHERE s.state = 'running' AND greatest(h.beat, pg_postmaster_start_time()) < clock_timestamp() - h.lease
			OR s.state = 'open' AND (j.id IS NULL OR j.finalized_at IS NOT NULL
				OR j.state = 'running' AND greatest(j.attempted_at, pg_postmaster_start_time()) < clock_timestamp() - $1::interval)
			ORDER BY s.id FOR UPDATE OF s SKIP LOCKED`, lease)
		if err != nil {
			return err
		}
		type lost struct {
			id  int64
			why string
		}
		all, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (l lost, err error) { return l, r.Scan(&l.id, &l.why) })
		if err != nil {
			return err
		}
		for _, l := range all {
			if err := f.again(ctx, tx, l.id, l.why); err != nil {
				return err
			}
		}
		given = len(all)
		// River's leader, who would, is switched off.
		_, err = tx.Exec(ctx, "DELETE FROM assay.river_job WHERE state IN ('completed', 'cancelled', 'discarded') AND finalized_at < clock_timestamp() - interval '1 day'")
		return err
	})
	return given, err
}

// Job is a job that a worker got.
type Job = river.Job[work]

// worker passes jobs on.
type worker struct {
	river.WorkerDefaults[work]
	do func(context.Context, *Job)
}

// Timeout implements river.Worker: none.
func (worker) Timeout(*Job) time.Duration { return -1 }

// Work implements river.Worker. What becomes of the slice is in our tables, whatever
// becomes of the job.
func (w worker) Work(ctx context.Context, job *Job) error {
	w.do(ctx, job)
	return nil
}

// Serve has do work on the jobs of a queue, one at a time, until ctx ends; it returns
// when the last do has. do's context is that of a job, and does not end with ctx.
func (f *Fleet) Serve(ctx context.Context, queue string, do func(context.Context, *Job)) error {
	workers := river.NewWorkers()
	if err := river.AddWorkerSafely(workers, &worker{do: do}); err != nil {
		return err
	}
	client, err := river.NewClient(riverpgxv5.New(f.pool), &river.Config{
		Schema: schema, Logger: silent(), Workers: workers, Queues: map[string]river.QueueConfig{queue: {MaxWorkers: 1}},
		// Slices know what River's leader would find out, and better.
		JobTimeout: -1, LeaderElectionDisabled: true,
		// A connection that listens, for each worker, would be half of all connections.
		PollOnly: true, FetchPollInterval: time.Second, FetchCooldown: 10 * time.Millisecond,
	})
	if err != nil {
		return f.fail("serving a queue", err)
	}
	if err := client.Start(context.WithoutCancel(ctx)); err != nil {
		return f.fail("serving a queue", err)
	}
	<-ctx.Done()
	return f.fail("leaving a queue", client.Stop(context.WithoutCancel(ctx)))
}
