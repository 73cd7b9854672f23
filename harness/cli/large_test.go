package cli_test

import (
	"context"
	"fmt"
	"html"
	"io"
	"math/rand/v2"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/harness/cli"
	"assay/results/viewer"
)

// BenchmarkView measures the pages of a large store, which `just million` makes and
// keeps in ASSAY_BENCH_STORE (a folder with million.sqlite and million.yaml):
//
//	ASSAY_BENCH_STORE=/data/million go test -run '^$' -bench View -benchtime 1x -timeout 1h ./harness/cli
//
// start: from the command to the first page, with the indexes there; before that they
// are made once, which "made" prints. Each page then is asked for a hundred times, at
// random, one after the other, over HTTP; p95 is of these. Orders and filters are each
// column and each list that the page offers. The run is compared with a copy of itself in
// which a tenth of all numbers is another trial's: made once, in the background, and then
// shown. The memory is the most that the process held up to then.
func BenchmarkView(b *testing.B) {
	dir := os.Getenv("ASSAY_BENCH_STORE")
	path := filepath.Join(dir, "million.sqlite")
	if _, err := os.Stat(path); dir == "" || err != nil {
		b.Skip("ASSAY_BENCH_STORE names no folder with million.sqlite; just million makes it")
	}
	defer cli.Sparing()()
	for b.Loop() {
		begin := time.Now()
		if err := cli.PrepareView(b.Context(), path, io.Discard); err != nil {
			b.Fatal(err)
		}
		scored, scoring := time.Since(begin), peak()
		first, err := cli.OpenView(b.Context(), path, nil)
		if err != nil {
			b.Fatal(err)
		}
		begin = time.Now()
		viewer.New([]*viewer.Run{first}).Refresh(b.Context(), first)
		made, indexing := time.Since(begin), peak()
		first.Store.Close()
		runtime.GC()

		begin = time.Now()
		r, err := cli.OpenView(b.Context(), path, []string{filepath.Join(dir, "million.yaml")})
		if err != nil {
			b.Fatal(err)
		}
		v := viewer.New([]*viewer.Run{r})
		srv := httptest.NewServer(viewer.Guard(viewer.Options{Listen: "127.0.0.1:0"}, v.Handler()))
		get(b, srv.URL+"/static/viewer.js")
		shown := time.Since(begin)
		if err := cli.PrepareView(b.Context(), path, io.Discard); err != nil { // as the command does: nothing is left to do
			b.Fatal(err)
		}
		v.Refresh(b.Context(), r)
		get(b, srv.URL+"/run/million/trials?study=cot")
		startup := time.Since(begin)
		fmt.Printf("scores there or made in %.1f s; indexes there or made in %.1f s; start %.2f s to the first page, %.2f s to the first table\n", scored.Seconds(), made.Seconds(), shown.Seconds(), startup.Seconds())
		askAll(b, srv.URL)
		srv.Close()
		fmt.Printf("memory: at most %s while scores were made, %s with the indexes, %s with the pages\n", scoring, indexing, peak())
		compareAll(b, r)
		r.Store.Close()
		fmt.Printf("memory, with the index of a second run: %s\n", peak())
		b.ReportMetric(shown.Seconds(), "start-s")
	}
}

// askAll prints what a hundred random requests of each page take.
func askAll(b *testing.B, base string) {
	rnd := rand.New(rand.NewPCG(7, 11))
	pick := func(list []string) string { return list[rnd.IntN(len(list))] }
	table := func(q string) string { return base + "/run/million/trials?study=" + q }
	columns := map[string][]string{}
	studies := []string{"cot", "faithfulness"}
	for _, s := range studies {
		for _, m := range regexp.MustCompile(`name="show" value="([^"]*)"`).FindAllStringSubmatch(get(b, table(s)), -1) {
			columns[s] = append(columns[s], url.QueryEscape(html.UnescapeString(m[1])))
		}
	}
	var trials, items []string
	for range 10 {
		s := pick(studies)
		for _, m := range opens.FindAllStringSubmatch(get(b, table(fmt.Sprintf("%s&page=%d&sort=%s", s, 1+rnd.IntN(5000), pick(columns[s])))), -1) {
			link := html.UnescapeString(m[1])
			trials = append(trials, base+link)
			if u, err := url.Parse(link); err == nil {
				items = append(items, base+"/run/million/item?study="+s+"&item="+url.QueryEscape(u.Query().Get("item")))
			}
		}
	}
	get(b, trials[0]) // the data set is read in
	var sorted, filtered []string
	for _, s := range studies {
		for _, c := range columns[s] {
			for _, way := range []string{"", "-"} {
				sorted = append(sorted, table(fmt.Sprintf("%s&sort=%s%s&page=%d", s, way, c, 1+rnd.IntN(1000))))
			}
		}
		for _, list := range lists.FindAllStringSubmatch(get(b, table(s)), -1) {
			for _, o := range choices.FindAllStringSubmatch(list[2], -1) {
				filtered = append(filtered, table(fmt.Sprintf("%s&%s=%s&sort=%s", s, url.QueryEscape(html.UnescapeString(list[1])), url.QueryEscape(html.UnescapeString(o[1])), pick(columns[s]))))
			}
		}
	}
	ask(b, "run", 100, func(int) string { return base + "/run/million/" })
	ask(b, "table, sorted by each column", len(sorted), func(i int) string { return sorted[i] })
	ask(b, "table, each list's choices", len(filtered), func(i int) string { return filtered[i] })
	ask(b, "table, three filters", 100, func(int) string {
		return table(fmt.Sprintf("faithfulness&is.model=m%02d&is.flip=%d&least.tokens=%d&sort=-energy_j", rnd.IntN(20), rnd.IntN(2), rnd.IntN(40)))
	})
	ask(b, "search", 100, func(int) string {
		return table(pick(studies) + "&q=" + pick([]string{"right+lung", "box", "opacity", "severe+lef", "heart", "is", "none", "the+picture+therefore"}) + "&sort=tokens")
	})
	ask(b, "trial", 100, func(int) string { return pick(trials) })
	ask(b, "item", 100, func(int) string { return pick(items) })
}

var (
	lists   = regexp.MustCompile(`<select name="(is\.[^"]*)">(.*?)</select>`)
	choices = regexp.MustCompile(`<option value="([^"]+)">`)
)

// ask prints what n requests of a page take.
func ask(b *testing.B, name string, n int, next func(int) string) {
	b.Helper()
	var took []time.Duration
	for i := range n {
		address := next(i)
		begin := time.Now()
		get(b, address)
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	fmt.Printf("%-30s n %3d  p50 %4d ms  p95 %4d ms  longest %4d ms\n", name, n, took[n/2-1].Milliseconds(), took[(95*n+99)/100-1].Milliseconds(), took[n-1].Milliseconds())
}

// compareAll compares a run with its shaken copy, and prints what its pages take.
func compareAll(b *testing.B, r *viewer.Run) {
	copied := &viewer.Run{Name: "shaken", Path: r.Path, Store: r.Store, Sent: r.Sent, Index: shaken{r, b.TempDir()}, Read: r.Read, Right: r.Right, Shown: r.Shown, Facets: r.Facets, Finds: r.Finds}
	v := viewer.New([]*viewer.Run{r, copied})
	v.Comparer = cli.Comparer{}
	v.Refresh(b.Context(), copied)
	runtime.GC()
	srv := httptest.NewServer(viewer.Guard(viewer.Options{Listen: "127.0.0.1:0"}, v.Handler()))
	defer srv.Close()
	ctx, cancel := context.WithCancel(b.Context())
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	work.Go(func() { v.Compare(ctx) })
	address := srv.URL + "/compare?a=million&b=shaken&all=1"
	begin := time.Now()
	var waited []time.Duration
	for {
		asked := time.Now()
		page := get(b, address)
		waited = append(waited, time.Since(asked))
		if !strings.Contains(page, `data-live="`) {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	took := time.Since(begin)
	slices.Sort(waited)
	found := regexp.MustCompile(`<td class="num">(\d+)</td><td class="num"><b>(\d+)</b></td>`).FindStringSubmatch(get(b, address))
	fmt.Printf("compared in %.1f s, %s scores, %s beyond noise; its page meanwhile: p95 %d ms of %d\n", took.Seconds(), found[1], found[2], waited[(95*len(waited)+99)/100-1].Milliseconds(), len(waited))
	rnd := rand.New(rand.NewPCG(3, 5))
	var rows, both []string
	ask(b, "comparison", 100, func(int) string {
		return fmt.Sprintf("%s&page=%d&order=%s", address, 1+rnd.IntN(20), []string{"", "p"}[rnd.IntN(2)])
	})
	for range 10 {
		for _, m := range opens.FindAllStringSubmatch(get(b, fmt.Sprintf("%s&page=%d", address, 1+rnd.IntN(10))), -1) {
			rows = append(rows, srv.URL+html.UnescapeString(m[1]))
		}
	}
	ask(b, "items that changed", 100, func(int) string { return rows[rnd.IntN(len(rows))] })
	for range 10 {
		for _, m := range opens.FindAllStringSubmatch(get(b, rows[rnd.IntN(len(rows))]), -1) {
			both = append(both, srv.URL+html.UnescapeString(m[1]))
		}
	}
	ask(b, "both trials", 100, func(int) string { return both[rnd.IntN(len(both))] })
}

// shaken makes indexes of a run in which a tenth of all numbers is another trial's.
type shaken struct {
	of  *viewer.Run
	dir string
}

func (s shaken) Tables(context.Context, func(string, int)) ([]*viewer.Table, error) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var out []*viewer.Table
	for _, study := range []string{"cot", "faithfulness"} {
		t := s.of.Table(study)
		path := filepath.Join(s.dir, study)
		bld, err := viewer.NewBuilder(path, study, "", t.Columns, s.of.Facets)
		if err != nil {
			return nil, err
		}
		cells := make([]viewer.Cell, len(t.Columns))
		var other viewer.Trial
		for row := range t.Rows {
			own, err := t.Trial(row)
			if err != nil {
				return nil, err
			}
			if row%100 == 0 { // whose numbers the next ones have
				other = own
			}
			for i, c := range t.Columns {
				cells[i] = own.Cell(c.Name)
				if i >= len(viewer.KeyColumns()) && cells[i].Kind == viewer.Number && rnd.IntN(10) == 0 {
					if other := other.Cell(c.Name); other.Kind == viewer.Number {
						cells[i] = other
					}
				}
			}
			if err := bld.Add(cells); err != nil {
				return nil, err
			}
		}
		if err := bld.Finish(); err != nil {
			return nil, err
		}
		made, err := viewer.OpenIndex(path, "")
		if err != nil {
			return nil, err
		}
		out = append(out, made)
	}
	return out, nil
}

// peak is the most memory that the process held, as Linux says it.
func peak() string {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return "not known"
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			return strings.TrimSpace(rest)
		}
	}
	return "not known"
}
