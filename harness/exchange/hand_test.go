package exchange

import (
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/backends"
	"assay/harness/config"
	"assay/harness/dataset"
	"assay/harness/score"
	"assay/results"
	"assay/results/store"
	"assay/timing"
	"assay/timing/telemetry"
)

// made is a store of one session on two GPUs with an answered trial, one that failed while it
// answered, and an answered one whose energies are not known. The first one held both GPUs for 2.5 s.
func made(t *testing.T) *store.Store {
	t.Helper()
	ctx := t.Context()
	st, err := store.Open(ctx, filepath.Join(t.TempDir(), "run.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	origin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ses := results.Session{Origin: origin, Hz: 20, Places: map[string]results.Place{"m": results.PlaceLocal},
		Host: &results.Host{Name: "box", Clock: &results.ClockOffset{Offset: -3 * time.Millisecond, Bound: time.Millisecond}}}
	for _, id := range []string{"A", "B"} {
		ses.Devices = append(ses.Devices, results.Watched{Source: "nvml", ID: id, Name: "H100 " + id, Kind: "gpu"})
	}
	must := func(errs ...error) {
		t.Helper()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	must(st.PutManifest(ctx, results.Manifest{Name: "made"}), st.PutSession(ctx, &ses))
	for n := range 2 {
		var x telemetry.Sample
		x.At, x.Took = time.Duration(n+1)*time.Second, 2*time.Millisecond
		x.Set(telemetry.PowerInstant, int64(1000*(n+1)))
		x.Set(telemetry.Energy, 5)
		must(st.PutSampleBundles(ctx, ses.ID, n, []results.SampleBundle{{From: x.At, To: x.At, N: 1, Bytes: telemetry.Pack([]telemetry.Sample{x}).Bytes}}))
	}
	for i, item := range []string{"answered", "failed", "unmeasured"} {
		rec := timing.NewRecorder(timing.NewClock())
		rec.MarkAt(timing.Start, time.Second)
		rec.MarkAt(timing.Sent, 1100*time.Millisecond)
		rec.Chunks([]timing.Chunk{{At: 1500 * time.Millisecond, Runes: 4, Answer: true}, {At: 3500 * time.Millisecond, Runes: 4, Answer: true}}, timing.StampsKernel)
		rec.MarkAt(timing.End, 4*time.Second)
		turn := results.Turn{Trace: rec.Trace(), Answer: "half of it", Reasoning: "thought", Finish: backends.FinishStop,
			Usage:  backends.Usage{PromptTokens: new(100), CompletionTokens: new(41), CachedTokens: new(7), ReasoningTokens: new(11)},
			Server: backends.Timings{Total: new(2400 * time.Millisecond), Load: new(10 * time.Millisecond), Prompt: new(400 * time.Millisecond), Decode: new(1900 * time.Millisecond), Queue: new(90 * time.Millisecond)}}
		a := results.Attempt{Started: origin, Session: ses.ID, Turns: []results.Turn{turn}}
		if i != 1 {
			a.Output = &results.Output{Answer: "half of it", Reasoning: "thought", Finish: backends.FinishStop}
		} else {
			a.Failure = &results.Failure{Kind: "truncated", Message: "no end"}
		}
		k := results.Key{Study: "cot", Model: "m", Item: item, Arm: "cot", Condition: "baseline"}
		must(st.PutItems(ctx, []results.Item{{Study: "cot", ID: item, Type: "single", Task: "chest", Modality: "CR"}}), st.PutTrial(ctx, results.Trial{Key: k, Inputs: "in", Attempts: []results.Attempt{a}}))
	}
	var uses []results.TrialUse
	for f, err := range st.Flights(ctx, ses) {
		must(err)
		if f.Key.Item == "unmeasured" {
			for _, part := range []results.Part{results.PartGPU, results.PartCPU} {
				uses = append(uses, results.TrialUse{Trial: f.Trial, Attempts: 1, Part: part, Use: results.Use{Held: new(2500 * time.Millisecond), Devices: new(2), Energy: timing.Energy{Unknown: "readings are missing"}}})
			}
		}
		if f.Key.Item == "answered" {
			uses = append(uses, results.TrialUse{Trial: f.Trial, Attempts: 1, Part: results.PartGPU, Use: results.Use{Held: new(2500 * time.Millisecond), Devices: new(2),
				Energy: timing.Energy{Gross: 1_500_500, Uncertainty: 12_000, Absolute: new(timing.Millijoules(60_000)), Net: new(timing.Millijoules(1_200_000)), NetUncertainty: new(timing.Millijoules(13_000)),
					NetAbsolute: new(timing.Millijoules(70_000)), Method: timing.ByCounter, Ticks: 25}}},
				results.TrialUse{Trial: f.Trial, Attempts: 1, Part: results.PartCPU, Use: results.Use{Held: new(2500 * time.Millisecond), Energy: timing.Energy{Gross: 45_250, Method: timing.ByCounter, Ticks: 25}}})
		}
	}
	must(st.PutUses(ctx, ses.ID, uses, nil))
	return st
}

// rowsOf are a table's rows by the names of its columns.
func rowsOf(t *testing.T, table Table) (out []map[string]any) {
	t.Helper()
	err := table.Rows(func(row []any) error {
		named := map[string]any{}
		for i, v := range row {
			named[table.Columns[i].Name] = v
		}
		out = append(out, named)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func has(t *testing.T, row map[string]any, want map[string]any) {
	t.Helper()
	for name, v := range want {
		got, there := row[name]
		x, number := v.(float64)
		y, also := got.(float64)
		if !there || number && (!also || math.Abs(x-y) > 1e-9) || !number && got != v {
			t.Errorf("%s of %v is %v, want %v", name, row["item"], got, v)
		}
	}
}

// TestTrialsByHand: times in seconds, energies in joules, and nothing answered where a trial failed.
func TestTrialsByHand(t *testing.T) {
	st := made(t)
	rules := score.Rules{Study: "cot", Names: []score.Name{{Name: "one", Unit: "1"}}, Score: func(score.Sample) []score.Value { return []score.Value{score.ValueOf("one", "", 1)} }}
	table, err := trials(t.Context(), st, []score.Asked{{Rules: rules}}, Beside{Questions: questions{"cot": {"answered": {"Which?", "A. a\nB. b", "B"}}}})
	if err != nil {
		t.Fatal(err)
	}
	rows := rowsOf(t, table)
	if len(rows) != 3 {
		t.Fatalf("%d rows", len(rows))
	}
	has(t, rows[0], map[string]any{"study": "cot", "model": "m", "item": "answered", "arm": "cot", "condition": "baseline", "repeat": int64(0),
		"question": "Which?", "options": "A. a\nB. b", "gold": "B", "host": "box", "clock_offset_s": -.003,
		"type": "single", "task": "chest", "modality": "CR", "attempts": int64(1), "flags": nil,
		"ttft_any_s": .5, "latency_any_s": 2.5, "decode_any_s": 2., "ttft_s": .5, "latency_s": 2.5, "server_s": 2.4, "tokens": 41., "prompt_tokens": 100.,
		"gpu_held_s": 2.5, "gpus": int64(2), "energy_j": 1500.5, "energy_net_j": 1200., "energy_uncertainty_j": 12., "energy_absolute_j": 60., "energy_net_absolute_j": 70.,
		"energy_method": "counter", "energy_low_confidence": false, "cpu_energy_j": 45.25,
		"answer": "half of it", "reasoning": "thought", "finish": "stop", "one": 1., "synthetic": false})
	has(t, rows[1], map[string]any{"item": "failed", "question": nil, "gold": nil, "answered": 0., "failure": "truncated", "energy_j": nil, "gpus": nil, "cpu_energy_j": nil,
		"answer": nil, "reasoning": nil, "finish": nil})
	has(t, rows[2], map[string]any{"item": "unmeasured", "answer": "half of it", "energy_j": nil, "energy_net_j": nil, "energy_uncertainty_j": nil, "energy_absolute_j": nil, "energy_method": nil, "energy_low_confidence": nil, "cpu_energy_j": nil})
}

// TestRequestsByHand: what is stored of each request, of failures as well.
func TestRequestsByHand(t *testing.T) {
	rows := rowsOf(t, attempts(t.Context(), made(t)))
	if len(rows) != 3 {
		t.Fatalf("%d rows", len(rows))
	}
	request := map[string]any{"attempt": int64(0), "turn": int64(0), "started": "2026-01-02T03:04:05Z", "upload_s": .1, "ttft_s": .5, "first_answer_s": .5, "latency_s": 2.5, "end_s": 3., "chunks": int64(2),
		"prompt_tokens": int64(100), "completion_tokens": int64(41), "cached_tokens": int64(7), "reasoning_tokens": int64(11),
		"server_total_s": 2.4, "server_load_s": .01, "server_prompt_s": .4, "server_decode_s": 1.9, "server_queue_s": .09, "answer": "half of it", "reasoning": "thought", "finish": "stop"}
	has(t, rows[0], request)
	has(t, rows[0], map[string]any{"failed": false, "failure": nil, "failure_message": nil})
	has(t, rows[1], request)
	has(t, rows[1], map[string]any{"failed": true, "failure": "truncated", "failure_message": "no end"})
}

// TestSamplesByHand: devices count from 0, sessions from 1.
func TestSamplesByHand(t *testing.T) {
	table, err := samples(t.Context(), made(t))
	if err != nil {
		t.Fatal(err)
	}
	rows := rowsOf(t, table)
	if len(rows) != 2 {
		t.Fatalf("%d rows", len(rows))
	}
	for n, row := range rows {
		has(t, row, map[string]any{"session": int64(1), "device": int64(n), "source": "nvml", "name": []string{"H100 A", "H100 B"}[n], "kind": "gpu", "synthetic": false,
			"at_s": float64(n + 1), "took_s": .002, "power_instant_mw": int64(1000 * (n + 1)), "energy_uj": int64(5), "power_average_mw": nil})
	}
}

// TestQuestionsAndGold: the right answer need not be the first option.
func TestQuestionsAndGold(t *testing.T) {
	cfg := &config.Config{File: "bench.yaml", Studies: []config.Study{{Name: "cot", Dataset: "d"}, {Name: "qa", Dataset: "e"}}}
	sets := map[string]*dataset.Dataset{
		"d": {Name: "d", Digest: "1", Items: []dataset.Item{{ID: "x", Question: "Which side?", Answer: "B", Options: []dataset.Option{{Label: "A", Text: "left"}, {Label: "B", Text: "right"}}},
			{ID: "y", Question: "Is there one?", Answer: "no", Options: []dataset.Option{{Text: "yes"}, {Text: "no"}}}}},
		"e": {Name: "e", Digest: "2", Items: []dataset.Item{{ID: "x", Question: "Another?", Answer: "?"}}},
	}
	man := results.Manifest{Datasets: []results.DatasetInfo{{Name: "d", Digest: "1"}, {Name: "e", Digest: "changed"}}, StudySettings: map[string]results.StudySetting{"cot": {Dataset: "d"}, "qa": {Dataset: "e"}}}
	q, why := QuestionsOf(cfg, sets, man)
	if why == nil || !strings.Contains(why.Error(), "study qa: the data set e of bench.yaml is not the one that was asked about") || len(q) != 1 {
		t.Errorf("%v, %v", q, why)
	}
	for item, want := range map[string]question{"x": {"Which side?", "A. left\nB. right", "B"}, "y": {"Is there one?", "yes\nno", "no"}} {
		if got := q["cot"][item]; got != want {
			t.Errorf("%s: %+v, want %+v", item, got, want)
		}
	}
}
