package cot

import (
	"fmt"
	"strings"

	"assay/results"
)

// Steps are what explains a score, not the verdict: two answers hardly ever have
// the same.
func readPrecision(v precisionVerdict) results.Reading {
	r := results.Reading{More: true}
	counts := map[string]int{}
	for _, s := range v.Steps {
		counts[s.Judgment]++
		r.Quotes = append(r.Quotes, results.Quote{Text: s.Text, Says: s.Judgment + ", " + s.Type})
	}
	for _, j := range []string{matched, wrong, na} {
		r.Fields = append(r.Fields, results.Field{Name: j, Text: fmt.Sprint(counts[j])})
	}
	return r
}

func readRecall(v recallVerdict) results.Reading {
	r := results.Reading{More: true}
	for _, p := range v.Paths {
		n := 0
		for _, s := range p.Steps {
			if s.Matched {
				n++
			}
		}
		r.Fields = append(r.Fields, results.Field{Name: fmt.Sprintf("path %d", p.Path), Text: fmt.Sprintf("%d of %d matched", n, len(p.Steps))})
	}
	return r
}

func readOrder(v orderVerdict) results.Reading {
	var r results.Reading
	for i, n := range []int{v.Modality, v.Feature, v.Conclusion, v.Other} {
		r.Fields = append(r.Fields, results.Field{Name: strings.Fields("modality feature conclusion other")[i], Text: fmt.Sprint(n)})
	}
	return r
}
