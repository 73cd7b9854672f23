package store

import (
	"testing"

	"assay/backends"
	"assay/results"
)

// TestExtents: what is planned comes first, trials that were not planned after it;
// an answer is no failure, and only cold policy has cache states.
func TestExtents(t *testing.T) {
	s := openStore(t)
	man := results.Manifest{Planned: []results.Planned{{Study: "cot", Model: "m", Trials: 5}, {Study: "cot", Model: "idle", Trials: 3}}}
	timed := func(k results.Key, policy results.CachePolicy, state backends.CacheState) results.Trial {
		tr := answered(k, "yes", 1e9)
		tr.Attempts[0].Cache = &results.Cache{Policy: policy, Cache: backends.Cache{State: state, Reason: map[bool]string{true: "unknown"}[state == backends.CacheUnverified]}}
		return tr
	}
	other := key("b")
	other.Arm = "cot"
	stray := key("a")
	stray.Model = "stray"
	for _, tr := range []results.Trial{timed(key("a"), results.PolicyCold, backends.CacheCold), timed(key("b"), results.PolicyCold, backends.CacheUnverified), timed(other, results.PolicyWarm, backends.CacheHit),
		answered(key("c"), "no", 1e9), failed(key("d"), "stall"), answered(stray, "no", 1e9)} {
		if err := s.PutTrial(bg, tr); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.Extents(bg, man)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 || got[0].Model != "m" || got[1].Model != "idle" || got[2].Model != "stray" {
		t.Fatalf("%+v", got)
	}
	m := got[0]
	if *m.Planned != 5 || m.Answers != 4 || m.Failures != 1 || m.Items != 4 || m.Timed != 3 || m.Warm != 1 || m.Stored() != 5 || m.Proven != 1 || m.Unverified != 1 || m.Hit != 0 {
		t.Errorf("%+v", m)
	}
	if idle := got[1]; *idle.Planned != 3 || idle.Stored() != 0 || idle.Items != 0 {
		t.Errorf("%+v", idle)
	}
	if got[2].Planned != nil || got[2].Answers != 1 || got[2].Timed != 0 {
		t.Errorf("%+v", got[2])
	}
}
