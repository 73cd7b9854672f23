package dataset

import (
	"testing"

	"assay/harness/dataset/datasettest"
)

// BenchmarkTAIX opens a test split of the published size, 6,592 rows about 206
// images of 210 kB, and loads pictures from it.
func BenchmarkTAIX(b *testing.B) {
	dir := b.TempDir()
	if err := datasettest.WriteTAIX(dir, "test", 206, 400); err != nil {
		b.Fatal(err)
	}
	kb := knowledgeFile(b, false)
	b.Run("open", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if d := openTAIX(b, dir, func(s *Source) { s.Knowledge = kb }); len(d.Items) != 6592 || len(d.Gaps) > 0 {
				b.Fatalf("%d items, gaps %v", len(d.Items), d.Gaps)
			}
		}
	})
	d := openTAIX(b, dir, nil)
	b.Run("load a picture", func(b *testing.B) {
		i := 0
		for b.Loop() {
			i = (i + 1171) % len(d.Items)
			if _, err := d.Items[i].Images[0].Load(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
