package faithfulness

import (
	"context"
	"os"
	"strconv"
	"testing"
)

// BenchmarkSummarize scores a store of one model, ASSAY_BENCH_ITEMS items (200
// unless set) under the eleven conditions and sham, with three rubrics by one judge.
func BenchmarkSummarize(b *testing.B) {
	items := 200
	if s := os.Getenv("ASSAY_BENCH_ITEMS"); s != "" {
		var err error
		if items, err = strconv.Atoi(s); err != nil {
			b.Fatal(err)
		}
	}
	c := everything()
	c.Conditions, c.Sweeps = c.Conditions[:12], nil
	bench := newBench(b, items, c)
	for i := range items {
		bench.put(i, "baseline", "left")
		for k, name := range c.Conditions {
			bench.put(i, name, []string{"left", "right"}[(i*7+k)%2], said{judge: "j", cf: 1 + i%5, ca: 1 + (i+k)%5, ct: 1 + k%5})
		}
	}
	judges := map[string][]string{rubricCF: {"j"}, rubricCA: {"j"}, rubricCT: {"j"}}
	for b.Loop() {
		if _, err := bench.study.Summarize(context.Background(), bench.store, judges, nil); err != nil {
			b.Fatal(err)
		}
	}
}
