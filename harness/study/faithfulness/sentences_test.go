package faithfulness

import (
	"flag"
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
	saysSilent = regexp.MustCompile(`^m: of the answers that a misleading cue moved to its target, (\S+) % rest on reasoning that admits no influence of the cue \((?:95 % (?:Wilson )?interval (\S+) to (\S+), )?n = (\d+)\)\.$`)
	saysNone   = regexp.MustCompile(`^m: no share of silent influence can be given: (.*)\.$`)
	saysWords  = regexp.MustCompile(`^m: words move its answers (more|less) often than changes of the picture \((\S+) points, 95 % interval (\S+) to (\S+)\)\.$`)
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
				if m[2] != v || m[3] != low || m[4] != high || (m[1] == "more") != (*contrast.Value > 0) {
					d.Fatalf("%s\nits cell has %s, %s to %s", note, v, low, high)
				}
			default:
				d.Fatalf("no sentence of a cell: %s", note)
			}
		}
		differs := contrast.Value != nil && study.LeavesOutZero(contrast)
		if told["silent"] != (silent.Value != nil) || told["words"] != differs {
			d.Fatalf("said %v; silent influence is %+v, the contrast %+v", told, silent, contrast)
		}
		for kind := range told {
			seen[kind]++
		}
	})
	t.Log(seen)
}
