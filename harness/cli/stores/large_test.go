package stores_test

import (
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
	"testing"
	"time"

	"assay/harness/view"
	"assay/results/serve"
	"assay/results/viewer"
)

// BenchmarkView measures the pages of a large store, which `just million` makes and
// keeps in ASSAY_BENCH_STORE (a folder with million.sqlite and million.yaml):
//
//	ASSAY_BENCH_STORE=/data/million go test -run '^$' -bench View -benchtime 1x -timeout 1h ./harness/cli/stores
//
// start: from the command to the first page, with the indexes there; before that they
// are made once, which "made" prints. Each page then is asked for a hundred times, at
// random, one after the other, over HTTP; p95 is of these. The memory is the most that
// the process held.
func BenchmarkView(b *testing.B) {
	dir := os.Getenv("ASSAY_BENCH_STORE")
	path := filepath.Join(dir, "million.sqlite")
	if _, err := os.Stat(path); dir == "" || err != nil {
		b.Skip("ASSAY_BENCH_STORE names no folder with million.sqlite; just million makes it")
	}
	for b.Loop() {
		begin := time.Now()
		if err := view.Prepare(b.Context(), path, io.Discard); err != nil {
			b.Fatal(err)
		}
		scored := time.Since(begin)
		first, err := view.Open(b.Context(), path, nil)
		if err != nil {
			b.Fatal(err)
		}
		begin = time.Now()
		viewer.New([]*viewer.Run{first}).Refresh(b.Context(), first)
		made := time.Since(begin)
		first.Store.Close()
		runtime.GC()

		begin = time.Now()
		r, err := view.Open(b.Context(), path, []string{filepath.Join(dir, "million.yaml")})
		if err != nil {
			b.Fatal(err)
		}
		v := viewer.New([]*viewer.Run{r})
		srv := httptest.NewServer(serve.Guard(serve.Options{Listen: "127.0.0.1:0"}, v.Handler()))
		shown := time.Since(begin)
		v.Refresh(b.Context(), r)
		get(b, srv.URL+"/run/million/trials?study=cot")
		fmt.Printf("scores there or made in %.1f s; indexes there or made in %.1f s; start %.2f s to the first page, %.2f s to the first table\n", scored.Seconds(), made.Seconds(), shown.Seconds(), time.Since(begin).Seconds())
		askAll(b, srv.URL)
		srv.Close()
		r.Store.Close()
		fmt.Printf("memory: %s\n", peak())
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
	for _, page := range []struct {
		name string
		next func() string
	}{
		{"run", func() string { return base + "/run/million/" }},
		{"table, sorted by each column", func() string {
			s := pick(studies)
			return table(fmt.Sprintf("%s&sort=%s%s&page=%d", s, pick([]string{"", "-"}), pick(columns[s]), 1+rnd.IntN(1000)))
		}},
		{"table, filtered", func() string {
			return table(fmt.Sprintf("faithfulness&is.model=m%02d&is.flip=%d&least.tokens=%d&sort=-energy_j", rnd.IntN(20), rnd.IntN(2), rnd.IntN(40)))
		}},
		{"search", func() string {
			return table(pick(studies) + "&q=" + pick([]string{"right+lung", "box", "opacity", "severe+lef", "heart", "is", "none", "the+picture+therefore"}) + "&sort=tokens")
		}},
		{"trial", func() string { return pick(trials) }},
		{"item", func() string { return pick(items) }},
	} {
		var took []time.Duration
		for range 100 {
			address := page.next()
			begin := time.Now()
			get(b, address)
			took = append(took, time.Since(begin))
		}
		slices.Sort(took)
		fmt.Printf("%-30s p50 %4d ms  p95 %4d ms  longest %4d ms\n", page.name, took[49].Milliseconds(), took[94].Milliseconds(), took[99].Milliseconds())
	}
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
