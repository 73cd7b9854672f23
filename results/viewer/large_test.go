package viewer

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"assay/results"
)

// BenchmarkMillionRows prints what an index of a million made-up trials takes, or of as many as
// ASSAY_BENCH_TRIALS says: 60 columns, eight of them of a million different numbers, 60 words of
// answer each.
//
//	go test -run '^$' -bench MillionRows -benchtime 1x ./results/viewer
func BenchmarkMillionRows(b *testing.B) {
	const few, many = 52, 8
	n := 1_000_000
	if s := os.Getenv("ASSAY_BENCH_TRIALS"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil || n < 1 {
			b.Fatalf("ASSAY_BENCH_TRIALS: expected a number of trials, found %q", s)
		}
	}
	cols := KeyColumns()
	for i := range few + many {
		cols = append(cols, results.FileColumn{Name: fmt.Sprint("c", i), Kind: results.NumberColumn})
	}
	vocabulary := make([]string, 2000)
	for i := range vocabulary {
		vocabulary[i] = fmt.Sprintf("word%d", i)
	}
	for b.Loop() {
		path := filepath.Join(b.TempDir(), "index")
		begin := time.Now()
		bld, err := NewBuilder(path, "s", "of", cols, []string{KeyModel, KeyArm, KeyCondition, "c1", "c2"})
		if err != nil {
			b.Fatal(err)
		}
		cells := make([]Cell, len(cols))
		var text []byte
		seed := uint64(1)
		random := func(n int) int {
			seed = seed*6364136223846793005 + 1442695040888963407
			return int(seed>>33) % n
		}
		k := results.Key{Study: "s", Arm: "a"}
		for i := range n {
			k.Model, k.Item, k.Condition = fmt.Sprintf("m%02d", i/50_000), fmt.Sprintf("case-%05d", i%50_000/10), fmt.Sprint("c", i%10)
			for c, s := range []string{k.Model, k.Item, k.Arm, k.Condition} {
				cells[c] = Cell{Kind: Text, Text: s}
			}
			cells[4] = Cell{Kind: Number}
			for c := range few {
				cells[5+c] = Cell{Kind: Number, Number: float64(random(9)) / 4}
			}
			for c := range many {
				cells[5+few+c] = Cell{Kind: Number, Number: float64(random(1 << 30))}
			}
			text = text[:0]
			for range 60 {
				text = append(append(text, vocabulary[random(len(vocabulary))]...), ' ')
			}
			if err := bld.Add(cells, string(text)); err != nil {
				b.Fatal(err)
			}
		}
		if err := bld.Finish(); err != nil {
			b.Fatal(err)
		}
		made := time.Since(begin)
		runtime.GC()
		begin = time.Now()
		t, err := OpenIndex(path, "of")
		if err != nil {
			b.Fatal(err)
		}
		opened := time.Since(begin)
		st, err := os.Stat(path)
		if err != nil {
			b.Fatal(err)
		}
		var took []time.Duration
		for range 100 {
			begin := time.Now()
			s, err := t.selects(query{Sort: cols[5+random(few+many)].Name, Down: random(2) == 1, Words: vocabulary[random(len(vocabulary))][:4+random(3)], Where: []Filter{{Column: "c3", Op: least, Values: []string{"0.5"}}}})
			if err != nil {
				b.Fatal(err)
			}
			counts, n, err := s.Counts()
			if err != nil || len(counts) == 0 {
				b.Fatal(err)
			}
			pageOf(b, s, random(max(1, n)), 50)
			took = append(took, time.Since(begin))
		}
		slices.Sort(took)
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		status, _ := os.ReadFile("/proc/self/status")
		high := "an unknown amount" // on systems without /proc
		if words := strings.Fields(string(status)); slices.Contains(words, "VmHWM:") {
			high = words[slices.Index(words, "VmHWM:")+1] + " kB"
		}
		fmt.Printf("N = %d: made in %.1f s, opened in %.2f s; the file takes %d MB, the table %d MB of memory, at most %s were held; a query takes p50 %d ms, p95 %d ms\n",
			n, made.Seconds(), opened.Seconds(), st.Size()/1e6, m.HeapAlloc/1e6, high, took[49].Milliseconds(), took[94].Milliseconds())
		t.Close()
	}
}
