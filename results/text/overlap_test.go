package text

import (
	"encoding/json"
	"math"
	"os"
	"testing"
)

// The values are those of google's rouge_score and of nltk.
func TestOverlapIsThatOfThePublishedTools(t *testing.T) {
	b, err := os.ReadFile("testdata/overlap.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden map[string][]struct {
		ID, Target, Prediction string
		F                      float64
	}
	if err := json.Unmarshal(b, &golden); err != nil {
		t.Fatal(err)
	}
	for name, of := range map[string]func(candidate, reference string) float64{"rouge_l": RougeL, "bleu2": BLEU2} {
		if len(golden[name]) < 20 {
			t.Errorf("%s: only %d cases", name, len(golden[name]))
		}
		for _, c := range golden[name] {
			if got := of(c.Prediction, c.Target); math.Abs(got-c.F) > 1e-12 {
				t.Errorf("%s, %s: %v, want %v", name, c.ID, got, c.F)
			}
		}
	}
}

// The values are those of the published model.
func TestRadCliQIsThatOfThePublishedTool(t *testing.T) {
	b, err := os.ReadFile("testdata/radcliq.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Examples []struct {
			X   [4]float64
			Out float64
		}
	}
	if err := json.Unmarshal(b, &golden); err != nil || len(golden.Examples) != 4 {
		t.Fatalf("%d examples, %v", len(golden.Examples), err)
	}
	for _, e := range golden.Examples {
		if got := RadCliQ(e.X[0], e.X[1], e.X[2], e.X[3]); math.Abs(got-e.Out) > 1e-9 {
			t.Errorf("%v: %v, want %v", e.X, got, e.Out)
		}
	}
}
