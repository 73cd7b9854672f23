//go:build fleet && linux

package faults

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"assay/harness/fleet"
)

// connect opens a database that has the tables.
func connect(t testing.TB, address string) *fleet.Fleet {
	t.Helper()
	f, err := fleet.Open(t.Context(), "", func(string) string { return address })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	if err := f.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return f
}

// jobs serves a queue until do has had n jobs.
func jobs(t testing.TB, f *fleet.Fleet, queue string, n int, do func(context.Context, *fleet.Job)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute+time.Duration(n)*time.Second)
	defer cancel()
	got := 0
	if err := f.Serve(ctx, queue, func(ctx context.Context, job *fleet.Job) {
		if got++; got == n {
			cancel() // before, so that no job of the next epoch is fetched
		}
		do(ctx, job)
	}); err != nil {
		t.Fatal(err)
	}
	if got != n {
		t.Fatalf("%d jobs of %s, want %d", got, queue, n)
	}
}

// A slice's life: an upload of an epoch that is over is refused and counted, one that is
// repeated is stored once, and a host that says that it lives keeps its slice.
func TestEpochs(t *testing.T) {
	pg := postgres(t)
	f := connect(t, pg.database("epochs"))
	ctx := t.Context()
	id, _, err := f.Submit(ctx, fleet.Experiment{Name: "e", Judged: true}, []byte{}, []fleet.Part{{Model: "m", Part: 1, Parts: 1, Trials: 2}})
	if err != nil {
		t.Fatal(err)
	}
	queue := fleet.Queue(id, fleet.Answer, "m")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	for _, h := range []string{"a", "b"} {
		must(f.Register(ctx, fleet.Host{ID: h, Name: h, Facts: []byte("{}"), Tags: []string{}, Lease: time.Minute}))
	}
	trials := []fleet.Trial{{Key: "one"}, {Key: "two", Failed: true}}
	packed, err := fleet.Pack(strings.NewReader("a store"))
	must(err)

	jobs(t, f, queue, 1, func(ctx context.Context, old *fleet.Job) {
		s, err := f.Claim(ctx, old.Args, "a")
		must(err)
		if s.Epoch != 1 || s.Trials != 2 || s.Model != "m" {
			t.Errorf("%+v", s)
		}
		if _, err := f.Claim(ctx, old.Args, "b"); !errors.Is(err, fleet.ErrLost) {
			t.Errorf("claimed by two hosts: %v", err)
		}
		pg.do("epochs", "UPDATE assay.host SET beat = now() - interval '59 s'")
		if n, err := f.Reap(ctx, time.Minute); n != 0 || err != nil {
			t.Errorf("silent for less than its lease: %d %v", n, err)
		}
		pg.do("epochs", "UPDATE assay.host SET beat = now() - interval '61 s'")
		// The database began a moment ago, and nobody could be heard before.
		if n, err := f.Reap(ctx, time.Minute); n != 0 || err != nil {
			t.Errorf("silent since before the database began: %d %v", n, err)
		}
		pg.do("epochs", "UPDATE assay.host SET lease = '0 s'")
		if n, err := f.Reap(ctx, time.Minute); n != 1 || err != nil {
			t.Errorf("silent: %d given again, %v", n, err)
		}
		if _, err := f.Claim(ctx, old.Args, "a"); !errors.Is(err, fleet.ErrLost) {
			t.Errorf("claimed for an epoch that is over: %v", err)
		}
		at := &fleet.At{Slice: s}
		if _, err := f.Beat(ctx, "a", at); !errors.Is(err, fleet.ErrLost) {
			t.Errorf("the slice was lost: %v", err)
		}
		if err := f.Store(ctx, old, s, "a", trials, packed); !errors.Is(err, fleet.ErrLost) {
			t.Errorf("an upload of a former epoch: %v", err)
		}
		if err := f.Release(ctx, s, "a", "no"); !errors.Is(err, fleet.ErrLost) {
			t.Errorf("giving back what one has not: %v", err)
		}
	})
	if n := pg.number("epochs", "SELECT count(*) FROM assay.trial"); n != 0 {
		t.Errorf("%d trials of a refused upload are stored", n)
	}
	if n := pg.number("epochs", "SELECT refused FROM assay.slice"); n != 1 {
		t.Errorf("%d refused uploads counted", n)
	}
	if n := pg.number("epochs", "SELECT count(*) FROM assay.river_job WHERE state = 'cancelled' AND finalized_at IS NOT NULL"); n != 1 {
		t.Errorf("the job of the former epoch is not closed")
	}
	jobs(t, f, queue, 1, func(ctx context.Context, job *fleet.Job) {
		s, err := f.Claim(ctx, job.Args, "b")
		must(err)
		if s.Epoch != 2 {
			t.Errorf("epoch %d", s.Epoch)
		}
		if _, err := f.Beat(ctx, "b", &fleet.At{Slice: s, Answered: 1}); err != nil {
			t.Error(err)
		}
		stale := s
		stale.Epoch = 1
		if err := f.Store(ctx, job, stale, "b", trials, packed); !errors.Is(err, fleet.ErrLost) {
			t.Errorf("an upload of the same host's former epoch: %v", err)
		}
		if _, err := f.Beat(ctx, "b", &fleet.At{Slice: stale}); !errors.Is(err, fleet.ErrLost) {
			t.Errorf("alive in a former epoch: %v", err)
		}
		if err := f.Store(ctx, job, s, "b", trials[:1], packed); err == nil || fleet.Transient(err) {
			t.Errorf("one trial of two: %v", err)
		}
		must(f.Store(ctx, job, s, "b", trials, packed))
		must(f.Store(ctx, job, s, "b", trials, packed)) // where the first answer was lost
	})
	for query, want := range map[string]int{
		"SELECT count(*) FROM assay.trial":                                                2,
		"SELECT count(*) FROM assay.bundle":                                               1,
		"SELECT count(*) FROM assay.slice WHERE kind = 'judge' AND state = 'open'":        1,
		"SELECT count(*) FROM assay.slice WHERE kind = 'answer' AND state = 'done'":       1,
		"SELECT answered * 10 + failed FROM assay.slice WHERE kind = 'answer'":            11,
		"SELECT count(*) FROM assay.river_job WHERE state = 'completed'":                  1,
		"SELECT count(*) FROM assay.river_job WHERE state IN ('available', 'running')":    1, // of judging
		"SELECT count(*) FROM assay.slice WHERE kind = 'answer' AND refused = 2":          1,
		"SELECT epoch FROM assay.slice WHERE kind = 'answer'":                             2,
		"SELECT count(*) FROM assay.host WHERE clock_error > 0 AND abs(clock_offset) < 5": 2,
	} {
		if n := pg.number("epochs", query); n != want {
			t.Errorf("%s: %d, want %d", query, n, want)
		}
	}
	var b bytes.Buffer
	if err := f.Load(ctx, id, "m", 1, &b); err != nil || b.String() != "a store" {
		t.Errorf("%q %v", b.String(), err)
	}
	// A job that is lost before anybody claims its slice.
	pg.do("epochs", "DELETE FROM assay.river_job WHERE state = 'available'")
	if n, err := f.Reap(ctx, time.Minute); n != 1 || err != nil {
		t.Errorf("a slice without a job: %d given again, %v", n, err)
	}
	if n, err := f.Reap(ctx, time.Minute); n != 0 || err != nil {
		t.Errorf("a slice with one: %d given again, %v", n, err)
	}
	// Jobs that ended are gone after a day.
	const ended = "SELECT count(*) FROM assay.river_job WHERE finalized_at IS NOT NULL"
	before := pg.number("epochs", ended)
	pg.do("epochs", "UPDATE assay.river_job SET finalized_at = now() - interval '25 h' WHERE id = (SELECT min(id) FROM assay.river_job WHERE finalized_at IS NOT NULL)")
	if _, err := f.Reap(ctx, time.Minute); err != nil || before < 2 || pg.number("epochs", ended) != before-1 {
		t.Errorf("of %d jobs that ended, one a day ago, %d are left: %v", before, pg.number("epochs", ended), err)
	}
	// Errors: five times in all.
	for try := range 5 {
		jobs(t, f, fleet.Queue(id, fleet.Judge, ""), 1, func(ctx context.Context, job *fleet.Job) {
			s, err := f.Claim(ctx, job.Args, "a")
			must(err)
			must(f.Fail(ctx, s, "a", fmt.Sprint("try ", try)))
		})
	}
	if n := pg.number("epochs", "SELECT count(*) FROM assay.slice WHERE kind = 'judge' AND state = 'failed' AND why = 'try 4'"); n != 1 {
		t.Error("not failed for good")
	}
	if n, err := f.Retry(ctx, id, false); n != 1 || err != nil {
		t.Errorf("failed slices tried again: %d %v", n, err)
	}
	if n, err := f.Retry(ctx, id, true); n != 1 || err != nil { // it has a trial that failed
		t.Errorf("slices with failed trials tried again: %d %v", n, err)
	}
	if all, err := f.Stored(ctx, id); err != nil || len(all) != 1 {
		t.Errorf("what was stored is to be there while it is tried again: %v %v", all, err)
	}
}

// Two that submit at once make the tables once; a newer schema is left alone.
func TestSchema(t *testing.T) {
	pg := postgres(t)
	address := pg.database("tables")
	var all []*fleet.Fleet
	for range 3 {
		f, err := fleet.Open(t.Context(), "", func(string) string { return address })
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		all = append(all, f)
	}
	if err := all[0].Check(t.Context()); !errors.Is(err, fleet.ErrNoTables) {
		t.Errorf("without tables: %v", err)
	}
	var wait sync.WaitGroup
	for _, f := range all {
		wait.Go(func() {
			if err := f.Migrate(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if err := all[0].Check(t.Context()); err != nil {
		t.Error(err)
	}
	pg.do("tables", "INSERT INTO assay.migration (version) VALUES (1000)")
	if err := all[0].Check(t.Context()); !errors.Is(err, fleet.ErrNewer) {
		t.Errorf("newer tables: %v", err)
	}
	if err := all[0].Migrate(t.Context()); !errors.Is(err, fleet.ErrNewer) {
		t.Errorf("newer tables: %v", err)
	}
	pg.do("tables", "DELETE FROM assay.migration")
	if err := all[0].Check(t.Context()); !errors.Is(err, fleet.ErrNoTables) {
		t.Errorf("no step done: %v", err)
	}
}

// Over TLS all works; without it, a server that only speaks TLS is not reached,
// and one whose certificate nobody knows is not believed. The password of the
// database and the key of the model's server are in no file but the key's own, in no row of the database, in no
// store in it and in nothing that is printed.
func TestTLSAndNoPasswordAnywhere(t *testing.T) {
	binary := assay(t)
	pg := postgres(t)
	pg.certificate()
	pg.put("data/pg_hba.conf", []byte("hostssl all all 127.0.0.1/32 scram-sha-256\nlocal all all scram-sha-256\n"))
	plain := pg.url("postgres")
	pg.stop(syscall.SIGINT)
	pg.extra = append(pg.extra, "-c", "ssl=on", "-c", "ssl_cert_file="+filepath.Join(pg.dir, "cert.pem"), "-c", "ssl_key_file="+filepath.Join(pg.dir, "key.pem"))
	pg.start()
	address := pg.database("tls")
	dir := t.TempDir()
	const key = "sk-lab-0123456789abcdefghijklmnop"
	put(t, filepath.Join(dir, "lab.key"), key+"\n")
	put(t, filepath.Join(dir, "bench.yaml"), strings.Replace(bench(slow(t, 0), 4), "place: remote", "place: remote, api_key_file: lab.key", 1))
	secrets := []string{password, url.QueryEscape(password), key}
	cert, err := os.ReadFile(filepath.Join(pg.dir, "cert.pem"))
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "root.pem"), string(cert))
	said := ""
	run := func(want int, address string, args ...string) {
		t.Helper()
		p := begin(t, binary, dir, address, args...)
		if code := p.code(); code != want {
			t.Errorf("assay %v: exit code %d, want %d\n%s%s", args, code, want, p.out.String(), p.errs.String())
		}
		said += p.out.String() + p.errs.String()
	}
	sure := address + "&sslmode=verify-full&sslrootcert=" + filepath.Join(dir, "root.pem")
	run(3, address+"&sslmode=verify-full", "fleet", "submit")
	run(3, plain+"&sslmode=disable", "fleet", "submit")
	run(3, strings.Replace(sure, password, password+"x", 1), "fleet", "submit")
	run(0, sure, "fleet", "submit")
	run(0, sure, "fleet", "worker")
	run(0, sure, "fleet", "worker", "--judge")
	run(0, sure, "fleet", "pull", "out.sqlite")
	run(0, "", "report", "out.sqlite")
	put(t, filepath.Join(dir, "other", "bench.yaml"), strings.Replace(bench("http://127.0.0.1:1", 4), "seed: 3", "seed: 4", 1))
	run(2, sure, "fleet", "worker", "-c", "other/bench.yaml")
	if !strings.Contains(said, "other/bench.yaml is not the experiment that was submitted as fleet (submitted, and here):\n  seed: 3 and 4") {
		t.Errorf("another experiment was not refused: %s", said)
	}
	for _, s := range secrets {
		if strings.Contains(said, s) {
			t.Errorf("%q was printed", s)
		}
	}
	files := 0
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Base(path) == "lab.key" {
			return err
		}
		files++
		b, err := os.ReadFile(path)
		for _, s := range secrets {
			if bytes.Contains(b, []byte(s)) {
				t.Errorf("%q is in %s", s, path)
			}
		}
		return err
	})
	if err != nil || files < 6 {
		t.Errorf("%d files, %v", files, err)
	}
	// Every row of every table, River's too, and the stores in them.
	c, err := pgx.Connect(t.Context(), sure)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	names, err := c.Query(t.Context(), "SELECT tablename FROM pg_tables WHERE schemaname = 'assay'")
	if err != nil {
		t.Fatal(err)
	}
	tables, err := pgx.CollectRows(names, pgx.RowTo[string])
	if err != nil || len(tables) < 8 {
		t.Fatalf("tables %v, %v", tables, err)
	}
	looked := 0
	for _, name := range tables {
		rows, err := c.Query(t.Context(), "SELECT to_jsonb(x)::text FROM assay."+name+" x")
		if err != nil {
			t.Fatal(err)
		}
		texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range texts {
			looked++
			for _, s := range secrets {
				if strings.Contains(text, s) {
					t.Errorf("%q is in table %s: %.200s", s, name, text)
				}
			}
		}
	}
	f := connect(t, sure)
	e, err := f.Experiment(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	stored, err := f.Stored(t.Context(), e.ID)
	if err != nil || len(stored) == 0 || looked < 20 {
		t.Fatalf("%d slices, %d rows, %v", len(stored), looked, err)
	}
	for _, s := range stored {
		var b bytes.Buffer
		if err := f.Download(t.Context(), s.ID, &b); err != nil {
			t.Fatal(err)
		}
		for _, secret := range secrets {
			if bytes.Contains(b.Bytes(), []byte(secret)) {
				t.Errorf("%q is in the store of slice %d", secret, s.ID)
			}
		}
	}
}

// What was answered anew is judged anew: a store that a judging which was stopped left on a
// host is of the former answers, and took their place.
func TestAnswersAskedAgainAreJudged(t *testing.T) {
	binary := assay(t)
	pg := postgres(t)
	address := pg.database("again")
	dir := t.TempDir()
	to, err := url.Parse(slow(t, 0))
	if err != nil {
		t.Fatal(err)
	}
	var broken atomic.Bool
	broken.Store(true)
	proxy := httputil.NewSingleHostReverseProxy(to)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if broken.Load() && strings.HasSuffix(r.URL.Path, "/chat") {
			http.Error(w, `{"error": "this picture cannot be read"}`, http.StatusBadRequest)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	put(t, filepath.Join(dir, "bench.yaml"), bench(server.URL, 2))
	ok(t, binary, dir, address, "fleet", "submit")
	begin(t, binary, dir, address, "fleet", "worker").code()
	f := connect(t, address)
	id := int64(pg.number("again", "SELECT min(id) FROM assay.experiment"))
	for _, model := range []string{"honest", "silent"} {
		slice := pg.number("again", "SELECT id FROM assay.slice WHERE kind = 'judge' AND model = '"+model+"'")
		var b bytes.Buffer
		if err := f.Load(t.Context(), id, model, 1, &b); err != nil {
			t.Fatal(err)
		}
		left := filepath.Join(dir, "j", fmt.Sprintf("slice-%d-%d.sqlite", id, slice))
		put(t, left, b.String())
		name, err := f.Upload(t.Context(), id, model, 1)
		if err != nil || name == "" {
			t.Fatalf("%q, %v", name, err)
		}
		put(t, left+".of", name)
	}
	if n := pg.number("again", "SELECT count(*) FROM assay.trial WHERE failed"); n == 0 {
		t.Fatal("no trial failed")
	}
	broken.Store(false)
	ok(t, binary, dir, address, "fleet", "submit", "--retry-failed")
	ok(t, binary, dir, address, "fleet", "worker")
	ok(t, binary, dir, address, "fleet", "worker", "--judge", "--dir", "j")
	if n := pg.number("again", "SELECT sum(answered) - sum(trials) FROM assay.slice WHERE kind = 'judge'"); n != 0 {
		t.Errorf("%d trials more than there are were told to be judged", n)
	}
	ok(t, binary, dir, address, "fleet", "pull", "out.sqlite")
	for _, r := range rows(t, ok(t, binary, dir, "", "export", "--format", "jsonl", "out.sqlite")) {
		if r["answered"] != 1.0 {
			t.Errorf("%v/%v: the answer is lost: %v", r["model"], r["item"], r["failure"])
		}
	}
}

// Interrupted, a worker gives its slice back and keeps what it answered; the same
// command goes on from there. A slice that needs what no host has waits.
func TestInterruptedAndTags(t *testing.T) {
	binary := assay(t)
	pg := postgres(t)
	address := pg.database("tags")
	dir := t.TempDir()
	put(t, filepath.Join(dir, "bench.yaml"), bench(slow(t, 50*time.Millisecond), 8))
	ok(t, binary, dir, address, "fleet", "submit", "--slice", "50", "--needs", "silent=Big")
	first := begin(t, binary, dir, address, "fleet", "worker", "--lease", "6s")
	until(t, "a slice is under way, and some of it is answered", func() bool {
		return pg.number("tags", "SELECT count(*) FROM assay.slice WHERE state = 'running' AND answered > 0") == 1
	})
	if p := begin(t, binary, dir, address, "fleet", "worker"); p.code() != 2 || !strings.Contains(p.errs.String(), "another worker works in this folder") {
		t.Errorf("two workers in a folder: %s", p.errs.String())
	}
	first.cmd.Process.Signal(os.Interrupt)
	if code := first.code(); code != 130 {
		t.Errorf("interrupted: exit code %d: %s", code, first.errs.String())
	}
	if n := pg.number("tags", "SELECT count(*) FROM assay.slice WHERE state = 'running' OR epoch = 2 AND state <> 'open'"); n != 0 {
		t.Errorf("%d slices are kept by who is gone", n)
	}
	spools, _ := filepath.Glob(filepath.Join(dir, ".assay", "worker", "slice-*.sqlite"))
	if len(spools) != 1 {
		t.Errorf("what was answered: %v", spools)
	}
	second := begin(t, binary, dir, address, "fleet", "worker")
	until(t, "all of honest is done", func() bool {
		return pg.number("tags", "SELECT count(*) FROM assay.slice WHERE model = 'honest' AND kind = 'answer' AND state <> 'done'") == 0
	})
	until(t, "it says what it waits for", func() bool {
		return pg.number("tags", "SELECT count(*) FROM assay.slice WHERE model = 'silent' AND state <> 'open'") == 0 && strings.Contains(second.errs.String(), "waiting: silent needs a host with big")
	})
	ok(t, binary, dir, address, "fleet", "worker", "--tag", "BIG", "--dir", "big")
	if code := second.code(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// Interrupted once, a worker finishes the trial that is on the wire, begins no other and
// gives its slice back; twice, it ends at once.
func TestInterruptedOnceAndTwice(t *testing.T) {
	binary := assay(t)
	pg := postgres(t)
	address := pg.database("once")
	dir := t.TempDir()
	var server traffic
	quiet := func() bool { return server.answered.Load() == server.asked.Load() }
	put(t, filepath.Join(dir, "bench.yaml"), scaled(slow(t, 2*time.Second, &server), 100))
	ok(t, binary, dir, address, "fleet", "submit", "--slice", "200")
	once := begin(t, binary, dir, address, "fleet", "worker")
	until(t, "a trial is on the wire", func() bool { return server.asked.Load() == 4 }) // the first ask what the server can do
	once.cmd.Process.Signal(os.Interrupt)
	if code := once.code(); code != 130 || !strings.Contains(once.errs.String(), "ending after the trial under way") || !strings.Contains(once.errs.String(), "was given back") {
		t.Errorf("exit code %d: %s", code, once.errs.String())
	}
	until(t, "nothing is on the wire", quiet)
	was := server.asked.Load()
	if n := server.gone.Load(); n != 0 || was > 100 {
		t.Errorf("%d requests, %d cut off", was, n)
	}
	if n := pg.number("once", "SELECT count(*) FROM assay.slice WHERE state = 'open' AND epoch = 2"); n != 1 {
		t.Error("the slice was not given back")
	}
	twice := begin(t, binary, dir, address, "fleet", "worker")
	until(t, "something is on the wire", func() bool { return server.asked.Load() > was })
	until(t, "it ends", func() bool {
		twice.cmd.Process.Signal(os.Interrupt)
		return !twice.lives()
	})
	until(t, "nothing is on the wire", quiet)
	if twice.code() != -1 || server.gone.Load() != 1 {
		t.Errorf("ended with code %d and %d requests cut off: %s", twice.code(), server.gone.Load(), twice.errs.String())
	}
}

// A host that serves another model under the name is given none of its slices: what it
// answered could not be joined with the others'.
func TestAnotherModelIsRefused(t *testing.T) {
	binary := assay(t)
	pg := postgres(t)
	address := pg.database("other")
	dir := t.TempDir()
	first := slow(t, 100*time.Millisecond)
	to, err := url.Parse(first)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.FlushInterval = -1
	proxy.ModifyResponse = func(r *http.Response) error {
		if r.Request.URL.Path != "/api/tags" {
			return nil
		}
		b, err := io.ReadAll(r.Body)
		b = regexp.MustCompile(`"digest":\s*"(sha256:)?[0-9a-f]{4}`).ReplaceAll(b, []byte(`"digest":"${1}0000`))
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(b)), int64(len(b))
		r.Header.Set("Content-Length", fmt.Sprint(len(b)))
		return err
	}
	second := httptest.NewServer(proxy)
	defer second.Close()
	put(t, filepath.Join(dir, "bench.yaml"), scaled(first, 16))
	put(t, filepath.Join(dir, "mine.yaml"), scaled(second.URL, 16))
	ok(t, binary, dir, address, "fleet", "submit", "--slice", "8")
	const done = "SELECT count(*) FROM assay.slice WHERE state = 'done' AND kind = 'answer'"
	a := begin(t, binary, dir, address, "fleet", "worker", "-c", "bench.yaml", "--name", "a", "--dir", "a")
	until(t, "a slice is done", func() bool { return pg.number("other", done) > 0 })
	a.cmd.Process.Signal(os.Interrupt)
	a.code()
	was := pg.number("other", done)
	b := begin(t, binary, dir, address, "fleet", "worker", "-c", "mine.yaml", "--name", "b", "--dir", "b")
	until(t, "it says why it waits", func() bool {
		return strings.Contains(b.errs.String(), "another model than that of the slices which are stored, on host a: weights digest was") || pg.number("other", done) > was
	})
	b.cmd.Process.Signal(os.Interrupt)
	if code := b.code(); code != 130 || pg.number("other", done) != was {
		t.Errorf("exit code %d, %d slices more: %s", code, pg.number("other", done)-was, b.errs.String())
	}
	ok(t, binary, dir, address, "fleet", "worker", "-c", "bench.yaml", "--name", "a", "--dir", "a")
	ok(t, binary, dir, address, "fleet", "pull", "out.sqlite")
}

// A database that goes away while a slice is brought to who judges it, and is still away
// when that is noted: the slice was kept by a host that lived and did nothing for it.
func TestNoSliceIsNobodys(t *testing.T) {
	binary := assay(t)
	pg := postgres(t)
	address := pg.database("kept")
	dir := t.TempDir()
	put(t, filepath.Join(dir, "bench.yaml"), bench(slow(t, 0), 2))
	ok(t, binary, dir, address, "fleet", "submit")
	ok(t, binary, dir, address, "fleet", "worker")
	c, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Exec(t.Context(), "BEGIN; LOCK TABLE assay.bundle"); err != nil {
		t.Fatal(err)
	}
	judge := begin(t, binary, dir, address, "fleet", "worker", "--judge", "--dir", "j")
	until(t, "a slice is waited for", func() bool { return pg.number("kept", "SELECT count(*) FROM pg_locks WHERE NOT granted") > 0 })
	pg.stop(syscall.SIGINT)
	c.Close(t.Context())
	until(t, "it is said that the database is away", func() bool {
		return strings.Count(judge.errs.String(), "failed to connect") > 1
	})
	pg.start()
	until(t, "all is judged", func() bool {
		return pg.number("kept", "SELECT count(*) FROM assay.slice WHERE state <> 'done'") == 0
	})
	if code := judge.code(); code != 0 {
		t.Errorf("exit code %d: %s", code, judge.errs.String())
	}
	if n := pg.number("kept", "SELECT sum(tries) FROM assay.slice"); n != 0 {
		t.Errorf("%d errors are noted of slices; the database alone was away", n)
	}
}

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("still not: %s", what)
		}
	}
}

// Two workers on a machine with the same GPUs: timed slices never run beside each other,
// and their times count.
func TestTimedSlicesTakeTurns(t *testing.T) {
	binary := assay(t)
	pg := postgres(t)
	dir := t.TempDir()
	put(t, filepath.Join(dir, "bench.yaml"), `name: timed
seed: 3
store: one.sqlite
datasets: {chest: {kind: phantom, items: 6, size: 256}}
backends: {p: {kind: phantom, protocol: ollama}}
models: {honest: {backend: p}, blind: {backend: p}}
judges: {lexical: {kind: lexical}}
studies: {cot: {dataset: chest, arms: [direct], timed: true, cache: warm, rubrics: {accuracy: [lexical]}}}
telemetry: {devices: [phantom], hz: 20}
`)
	const together = `SELECT count(*) FROM assay.slice a, assay.slice b WHERE a.id < b.id AND a.host <> b.host AND a.kind = 'answer' AND b.kind = 'answer' AND a.started < b.ended AND b.started < a.ended`
	address := pg.database("timed")
	ok(t, binary, dir, address, "fleet", "submit", "--slice", "2")
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("CUDA_VISIBLE_DEVICES", "0")
	var all []*program
	for i := range 2 {
		all = append(all, begin(t, binary, dir, address, "fleet", "worker", "--dir", fmt.Sprint("w", i), "--name", fmt.Sprint("w", i)))
	}
	for _, p := range all {
		if code := p.code(); code != 0 {
			t.Fatalf("exit code %d: %s", code, p.errs.String())
		}
	}
	if n := pg.number("timed", together); n != 0 {
		t.Errorf("%d pairs of timed slices ran beside each other on one GPU", n)
	}
	ok(t, binary, dir, address, "fleet", "pull", "out.sqlite")
	for _, r := range rows(t, ok(t, binary, dir, "", "export", "--format", "jsonl", "out.sqlite")) {
		if r["latency_s"] == nil || r["host"] == nil || r["clock_offset_s"] == nil {
			t.Errorf("%v/%v: latency %v, host %v, clock %v", r["model"], r["item"], r["latency_s"], r["host"], r["clock_offset_s"])
		}
	}
}
