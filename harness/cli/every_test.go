package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/backends/kinds"
	"assay/backends/phantom"
	"assay/harness/config"
	"assay/harness/dataset"
	"assay/harness/dataset/datasettest"
	films "assay/harness/dataset/phantom"
	"assay/harness/experiment"
	"assay/harness/plan"
)

// TestEveryDraftCanBePlanned: for every study, format and kind of server what is written can be
// planned as it is; where the study asks nothing of the data, that is said and nothing is written.
func TestEveryDraftCanBePlanned(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	paths := map[string]string{}
	for _, kind := range dataset.ExampleKinds() {
		path, err := dataset.WriteExample(kind, filepath.Join(dir, kind))
		if err != nil {
			t.Fatal(err)
		}
		paths[kind] = path
	}
	paths["plain "+dataset.KindJSONL] = filepath.Join(dir, dataset.KindCSV, "plain.jsonl")
	plain := `{"id":"1","images":["images/1.png"],"question":"Is it?","type":"binary","options":[{"text":"yes"},{"text":"no"}],"answer":"yes"}` + "\n" +
		`{"id":"2","images":["images/1.png"],"question":"Is it?","type":"bool","answer":"True"}` + "\n"
	if err := os.WriteFile(paths["plain "+dataset.KindJSONL], []byte(plain), 0o600); err != nil {
		t.Fatal(err)
	}
	for kind, write := range map[string]func(string) error{
		dataset.KindM3CoTBench: func(dir string) error { return datasettest.WriteM3CoTBench(dir, 12) },
		dataset.KindTAIX:       func(dir string) error { return datasettest.WriteTAIX(dir, "test", 1, 64) },
		dataset.KindMedThinkVQA: func(dir string) error {
			cases, err := datasettest.MedCases(2)
			if err != nil {
				return err
			}
			return datasettest.WriteMedThinkVQA(dir, "test", cases, false)
		},
	} {
		paths[kind] = filepath.Join(dir, kind)
		if err := write(paths[kind]); err != nil {
			t.Fatal(err)
		}
	}
	// Of these the study asks no question; every other draft is whole.
	none := func(study, data string) bool {
		return study == "diagnosis" && data != dataset.KindMedThinkVQA || study != "diagnosis" && study != "qa" && data == dataset.KindMedThinkVQA || study == "cot" && data == dataset.KindTAIX
	}
	drafts := 0
	for _, protocol := range phantom.Protocols() {
		server, err := phantom.Listen("127.0.0.1:0", phantom.Options{Skill: new(films.Films), Protocol: protocol, Seed: 7})
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		servers := []string{""}
		if slices.Contains(kinds.Names(false), protocol) {
			servers = append(servers, protocol)
		}
		if protocol == "vllm" {
			servers = append(servers, "openai")
		}
		for _, st := range experiment.All() {
			for data, path := range paths {
				for _, kind := range servers {
					if testing.Short() && kind == "" {
						continue
					}
					name := fmt.Sprintf("%s, %s, %s %s", st.Name, data, protocol, kind)
					out := filepath.Join(dir, fmt.Sprintf("%d.yaml", drafts))
					drafts++
					_, err := wanted{Study: st.Name, Kind: kind, URL: server.URL, Path: path, Models: []string{"honest"}}.Create(t.Context(), out, experiment.Known())
					if none(st.Name, data) {
						if _, there := os.Stat(out); err == nil || there == nil || !strings.Contains(err.Error(), "study "+st.Name+" asks") {
							t.Errorf("%s: written, or %v", name, err)
						}
						continue
					}
					if err != nil {
						t.Errorf("%s: %v", name, err)
						continue
					}
					cfg, err := config.Read(out, experiment.Known())
					if err != nil {
						t.Errorf("%s: %v", name, err)
						continue
					}
					b, err := experiment.Assemble(t.Context(), cfg)
					if err != nil {
						t.Errorf("%s: %v", name, err)
						continue
					}
					p, err := b.Plan(plan.Filter{})
					if err != nil || len(p.Blocks) == 0 {
						t.Errorf("%s: %v, %d blocks", name, err, len(p.Blocks))
					}
				}
			}
		}
	}
	if drafts < 100 {
		t.Errorf("%d drafts", drafts)
	}
}
