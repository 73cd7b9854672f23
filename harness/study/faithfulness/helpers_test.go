package faithfulness

import (
	"flag"
	"runtime/debug"
	"testing"

	"assay/harness/dataset"
	"assay/harness/study"
	"assay/perturb"
)

// TestMain has garbage collected less often: what tests make is small and soon gone. Benchmarks collect as the
// program does.
func TestMain(m *testing.M) {
	flag.Parse()
	if flag.Lookup("test.bench").Value.String() == "" {
		debug.SetGCPercent(400)
	}
	m.Run()
}

func everything() study.Choice {
	c := study.Choice{}
	for _, n := range allConditions() {
		c.Conditions = append(c.Conditions, n.Name)
	}
	return c
}

func made(t testing.TB, c study.Choice) study.Study {
	t.Helper()
	s, err := Study().With(nil, c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func options(texts ...string) []dataset.Option {
	var out []dataset.Option
	for _, o := range texts {
		out = append(out, dataset.Option{Text: o})
	}
	return out
}

func comparative(gold string) dataset.Item {
	return dataset.Item{ID: "c-" + gold, Question: "On which side is the opacity more severe?", Type: dataset.TypeComparative,
		Options: options("right", "left", "same severity", "none"), Answer: gold, Aliases: map[string]string{"same": "same severity", "absent": "none"},
		Regions: map[string][]perturb.Region{"left": {{X0: 60, Y0: 20, X1: 95, Y1: 80}}, "right": {{X0: 5, Y0: 20, X1: 40, Y1: 80}}}}
}

func knowledge() dataset.Knowledge {
	return dataset.Knowledge{
		MustAll:    []dataset.Term{{Term: "opacity on the left", Synonyms: []string{"left-sided opacity"}}},
		AtLeast:    []dataset.AtLeast{{K: 1, AnyOf: []dataset.Term{{Term: "white patch"}, {Term: "air bronchogram"}}}},
		Forbidden:  []dataset.Term{{Term: "pleural effusion"}},
		Caps:       []dataset.Cap{{If: "wrong side", MaxScore: 1}, {If: "forbidden finding claimed", MaxScore: 2}},
		Alternates: [][]string{{"opacity", "consolidation"}},
	}
}
