package experiment

import (
	"bytes"
	"encoding/base64"
	"flag"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"assay/harness/config"
	"assay/harness/plan"
	"assay/harness/servers"
	"assay/results"
)

var updateShots = flag.Bool("update-shots", false, "write the requests of testdata/shots again")

// shown is a bench.yaml of four kinds of servers about three questions, each of its own
// picture and two about one of them, with some keys of study qa.
func shown(t *testing.T, keys, more string) (*Bench, error) {
	t.Helper()
	dir := t.TempDir()
	tbl := "id,image,question,A,B,answer\nside,1.png,Which side is whiter?,left,right,B\nagain,1.png,And which is darker?,left,right,A\ntube,2.png,Is there a tube?,,,no\nnext,3.png,What comes next?,,,a CT\n"
	for i := range 3 {
		img := image.NewGray(image.Rect(0, 0, 2+i, 2))
		var b bytes.Buffer
		if err := png.Encode(&b, img); err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(dir, fmt.Sprintf("%d.png", i+1)), b.String())
	}
	put(t, filepath.Join(dir, "q.csv"), tbl)
	put(t, filepath.Join(dir, "few.csv"), "id,image,question,answer\nfrom-1,2.png,Is there a line?,yes\nfrom-2,3.png,What is it?,a lung\n")
	put(t, filepath.Join(dir, "bench.yaml"), `name: shots
datasets:
  mine: {kind: csv, path: q.csv}`+more+`
backends:
  ollama: {kind: ollama, url: "http://127.0.0.1:1"}
  llamacpp: {kind: llamacpp, url: "http://127.0.0.1:1"}
  vllm: {kind: vllm, url: "http://127.0.0.1:1"}
  openai: {kind: openai, url: "http://127.0.0.1:1"}
models: {ollama: {backend: ollama, model: m}, llamacpp: {backend: llamacpp, model: m}, vllm: {backend: vllm, model: m}, openai: {backend: openai, model: m}}
judges: {lexical: {kind: lexical}}
studies:
  qa: {dataset: mine, `+keys+`}
`)
	cfg, err := config.Read(filepath.Join(dir, "bench.yaml"), Known())
	if err != nil {
		return nil, err
	}
	return Assemble(t.Context(), cfg)
}

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestRequestsWithAnExample: what goes over the wire to each kind of server, cold, for a
// question behind an example; without examples it is what it was before there were any.
// Pictures are written as their number.
func TestRequestsWithAnExample(t *testing.T) {
	b, err := shown(t, "arms: [answer], shots: [0, 1], timed: true", "")
	if err != nil {
		t.Fatal(err)
	}
	p, err := b.Plan(plan.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	servers := servers.NewServers(Setup(b.Config))
	servers.Dial = HangUp
	defer servers.Close()
	picture := regexp.MustCompile(`(data:image/png;base64,|"images":\[")([A-Za-z0-9+/=]+)`)
	for _, model := range b.Config.Models {
		for _, shots := range []string{"baseline", "SHOTS@shots=1"} {
			tr, err := PickTrial(p, results.Key{Study: "qa", Model: model.Name, Item: "tube", Arm: "answer", Condition: shots})
			if err != nil {
				t.Fatal(err)
			}
			end, err := Connect(b.Config, model.Name, servers)
			if err != nil {
				t.Fatal(err)
			}
			turns, _, err := b.Turns(t.Context(), tr, end.Backend, nil)
			if err != nil {
				t.Fatal(err)
			}
			_, body := turns[0].Request()
			got := picture.ReplaceAllStringFunc(string(body), func(s string) string {
				m := picture.FindStringSubmatch(s)
				file, err := base64.StdEncoding.DecodeString(m[2])
				if err != nil {
					t.Fatal(err)
				}
				size, err := png.DecodeConfig(bytes.NewReader(file))
				if err != nil {
					t.Fatal(err)
				}
				marked := "picture "
				if bytes.Contains(file, []byte("tEXt")) {
					marked = "marked picture "
				}
				return m[1] + marked + fmt.Sprint(size.Width-1)
			}) + "\n"
			file := filepath.Join("testdata", "shots", model.Name+"-"+strings.TrimPrefix(shots, "SHOTS@shots=")+".json")
			if *updateShots {
				put(t, file, got)
			}
			want, err := os.ReadFile(file)
			if err != nil || got != string(want) {
				t.Errorf("%s: %v\n%s\nwant\n%s", file, err, got, want)
			}
			if shots != "baseline" && !strings.Contains(turns[0].Prompt, "[example 1]\n") || shots == "baseline" && strings.Contains(turns[0].Prompt, "example") {
				t.Errorf("%s: the prompt is shown as\n%s", model.Name, turns[0].Prompt)
			}
		}
	}
}

// TestExamplesThatAreRefused: what is wrong with shots is said before anything is sent.
func TestExamplesThatAreRefused(t *testing.T) {
	few := "\n  few: {kind: csv, path: few.csv}"
	for _, c := range []struct{ keys, more, want string }{
		{"arms: [answer], shots: 2", "", ""},
		{"arms: [answer], shots: [0, 1], shots_from: few", few, ""},
		{"arms: [answer], shots: 3", "", "studies.qa.shots: expected 3 examples that show nothing of the question, found 2 for item side, and too few for 2 of 4 items, in data set mine"},
		{"arms: [answer], shots: 2, shots_from: few", few, "found 1 for item tube, and too few for 2 of 4 items, in data set few, where 2 of 2 items"},
		{"shots: 1", "", "4 have no gold steps, with which arm reason shows how to reason"},
		{"arms: [answer], shots: 1, shots_from: other", few, "studies.qa.shots_from: expected one of mine, few, found \"other\""},
		{"arms: [answer], shots_from: few", few, "studies.qa.shots_from: expected the key shots beside it"},
		{"arms: [answer], shots: -1", "", "studies.qa.shots: expected a whole number from 0 to 64, or several"},
		{"arms: [answer], shots: [2, 1]", "", "studies.qa.shots: expected a whole number"},
		{"arms: [answer], shots: 65", "", "studies.qa.shots: expected a whole number"},
		{"arms: [answer], shots: []", "", "studies.qa.shots: expected a whole number"},
		{"arms: [answer], timed: true, in_flight: [1, 2], shots: 1", "", "studies.qa.shots: expected nothing, because study qa shows no examples, or not in a load sweep"},
	} {
		_, err := shown(t, c.keys, c.more)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("{%s}: %v\nwant %s", c.keys, err, c.want)
		}
	}
}
