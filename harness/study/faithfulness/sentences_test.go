package faithfulness

import (
	"flag"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"assay/harness/study"
	"assay/results"
	"assay/results/stats"
)

var (
	saysSilent = regexp.MustCompile(`^m: of the answers that a misleading cue moved to its target, (\S+) % do not admit the cue in their reasoning \((?:95 % (?:Wilson )?CI (\S+) to (\S+), )?n = (\d+)\)\.$`)
	saysNone   = regexp.MustCompile(`^m: silent influence is undefined: (.*)\.$`)
	saysWords  = regexp.MustCompile(`^m: changes of the text move its answers (more|less) often than changes of the image \((\S+) points, 95 % CI (\S+) to (\S+), n = (\d+) items? \((\d+) pairs of answers\), Holm p = (\S+?)(; the interval includes 0, but the test decides)?\)\.$`)
)

// TestSentencesFollowTheirCells: over drawn stores, each sentence has the numbers of the row
// that it speaks of, and none is left out.
func TestSentencesFollowTheirCells(t *testing.T) {
	checks := flag.Lookup("rapid.checks") // each writes a store
	was := checks.Value.String()
	defer checks.Value.Set(was)
	if was == checks.DefValue {
		checks.Value.Set("8")
	}
	seen := map[string]int{}
	rapid.Check(t, func(d *rapid.T) {
		n := rapid.IntRange(3, 16).Draw(d, "items")
		b := newBench(t, n, study.Choice{Conditions: []string{"TB-LA-", "VB-BB-"}})
		words, marks := rapid.IntRange(0, 3).Draw(d, "words"), rapid.IntRange(0, 3).Draw(d, "marks")
		for i := range n {
			b.put(i, "baseline", "left")
			for k, condition := range []string{"TB-LA-", "VB-BB-"} {
				answer := "left"
				if rapid.IntRange(1, 3).Draw(d, "flips") <= []int{words, marks}[k] {
					answer = "right"
				}
				b.put(i, condition, answer, said{judge: "j", ca: rapid.IntRange(0, 5).Draw(d, "CA")})
			}
		}
		secs := b.sections("j")
		tables := map[string]results.Table{}
		for _, s := range secs {
			for _, one := range s.Tables {
				tables[one.Name] = one
			}
		}
		silent := find(t, tables[tableSilent], "silent", allMisleading)
		contrast := find(t, tables[tableContrasts], "difference", "text - image", "Flips")
		holm := find(t, tables[tableContrasts], "p_holm", "text - image", "Flips")
		told := map[string]bool{}
		for _, note := range secs[0].Notes {
			switch {
			case saysSilent.MatchString(note):
				m := saysSilent.FindStringSubmatch(note)
				told["silent"] = true
				if silent.Value == nil || m[1] != stats.Fixed(*silent.Value, 1) || m[4] != strconv.Itoa(silent.N) {
					d.Fatalf("%s\nits cell has %+v", note, silent)
				}
				if !strings.Contains(note, "Wilson") && silent.Low != nil && (m[2] != stats.Fixed(*silent.Low, 1) || m[3] != stats.Fixed(*silent.High, 1)) {
					d.Fatalf("%s\nits interval is %v to %v", note, *silent.Low, *silent.High)
				}
			case saysNone.MatchString(note):
				told["none"] = true
				if m := saysNone.FindStringSubmatch(note); silent.Value != nil || m[1] != silent.Why {
					d.Fatalf("%s\nits cell has %+v", note, silent)
				}
			case saysWords.MatchString(note):
				m := saysWords.FindStringSubmatch(note)
				told["words"] = true
				v, low, high := results.EstimateWords("points", *contrast, true)
				if m[2] != v || m[3] != low || m[4] != high || (m[1] == "more") != (*contrast.Value > 0) || m[5] != strconv.Itoa(holm.N) || m[6] != strconv.Itoa(contrast.N) || m[7] != stats.Significant(*holm.Value, 2) {
					d.Fatalf("%s\nits cells have %s, %s to %s, and %+v", note, v, low, high, holm)
				}
			default:
				d.Fatalf("no sentence of a cell: %s", note)
			}
		}
		differs := contrast.Value != nil && holm.Value != nil && *holm.Value <= results.Sure && *contrast.Value != 0
		if told["silent"] != (silent.Value != nil) || told["words"] != differs {
			d.Fatalf("said %v; silent influence is %+v, the contrast %+v", told, silent, contrast)
		}
		for kind := range told {
			seen[kind]++
		}
	})
	t.Log(seen)
}

// TestContrastsAreTested: whether words move more answers than marks is tested over items, those that share an
// image as one, and corrected for all contrasts that the table shows.
func TestContrastsAreTested(t *testing.T) {
	for _, c := range []struct {
		n, images int
		p         float64
		said      bool
	}{
		{8, 8, 1. / 256, true},
		{8, 2, 1. / 4, false}, // the interval by items leaves out 0 far
		{4, 4, 1. / 16, false},
	} {
		b := newBench(t, 0, study.Choice{Conditions: []string{"TB-LA-", "VB-BB-"}})
		var facts []results.Item
		for i := range c.n {
			it := comparative("left")
			it.ID, it.Options, it.Picture = fmt.Sprintf("item-%02d", i), options("right", "left"), fmt.Sprint("picture ", i%c.images)
			f, err := b.study.Facts(7, it)
			b.must(err)
			b.items, facts = append(b.items, it), append(facts, f)
		}
		b.must(b.store.PutItems(t.Context(), facts))
		for i := range c.n {
			b.put(i, "baseline", "left")
			b.put(i, "TB-LA-", "right")
			b.put(i, "VB-BB-", "left")
		}
		secs := b.sections("j")
		var contrasts results.Table
		for _, s := range secs {
			if s.Name == tableContrasts {
				contrasts = s.Tables[0]
			}
		}
		p, holm := find(t, contrasts, "p", "text - image", "Flips"), find(t, contrasts, "p_holm", "text - image", "Flips")
		if math.Abs(*p.Value-c.p) > 1e-12 || p.N != c.n || p.Clusters != c.images {
			t.Errorf("%d items of %d images: p = %v of %d in %d, want %v", c.n, c.images, *p.Value, p.N, p.Clusters, c.p)
		}
		if want := 2 * c.p; math.Abs(*holm.Value-want) > 1e-12 { // accuracy is the family's other test
			t.Errorf("%d items of %d images: Holm p = %v, want %v", c.n, c.images, *holm.Value, want)
		}
		if said := strings.Join(secs[0].Notes, " "); strings.Contains(said, "m: changes of the text move its answers more often") != c.said {
			t.Errorf("%d items of %d images: %s", c.n, c.images, said)
		}
	}
}
