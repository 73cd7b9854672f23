package phantom_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"assay/backends/phantom"
	films "assay/harness/dataset/phantom"
)

// A model's first reply waits for it to be loaded, and says so; one that was
// taken out of memory waits again.
func TestModelsAreLoadedOnce(t *testing.T) {
	p := quick("heavy", true)
	p.Load, p.Base = 40*time.Millisecond, 2*time.Millisecond
	url := listen(t, phantom.Options{Skill: new(films.Films), Protocol: "ollama", Readers: []phantom.Profile{p}})
	load := func() time.Duration {
		_, body := chatBody("ollama", "heavy", "")
		var last struct {
			Load  int64 `json:"load_duration"`
			Total int64 `json:"total_duration"`
		}
		lines := strings.Split(strings.TrimSpace(string(send(t, url, "POST", "/api/chat", body).body())), "\n")
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || last.Total < last.Load {
			t.Fatalf("%v: %s", err, lines[len(lines)-1])
		}
		return time.Duration(last.Load)
	}
	if first, second := load(), load(); first < p.Load || second >= p.Load {
		t.Errorf("the first reply waits %v for its model, the second %v", first, second)
	}
	send(t, url, "POST", "/api/generate", `{"model":"heavy","keep_alive":0}`)
	if again := load(); again < p.Load {
		t.Errorf("after unloading, a reply waits %v", again)
	}
}

func TestTokensPerChunkAndJitter(t *testing.T) {
	for _, protocol := range protocols() {
		one, four := quick("one", true), quick("four", true)
		four.ChunkTokens, four.Jitter = 4, .5
		url := listen(t, phantom.Options{Skill: new(films.Films), Protocol: protocol, Readers: []phantom.Profile{one, four}})
		count := func(model string) (chunks, tokens int) {
			path, body := chatBody(protocol, model, "")
			text := string(send(t, url, "POST", path, body).body())
			for line := range strings.Lines(text) {
				var v struct {
					Count int `json:"eval_count"`
					Usage struct {
						Count int `json:"completion_tokens"`
					} `json:"usage"`
				}
				if strings.Contains(line, `"content":"`) && !strings.Contains(line, `"content":""`) {
					chunks++
				}
				if json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &v) == nil {
					tokens = max(tokens, v.Count, v.Usage.Count)
				}
			}
			return chunks, tokens
		}
		p1, t1 := count("one")
		p4, t4 := count("four")
		if p1 != t1 || t4 != t1 || p4 != (t4+3)/4 {
			t.Errorf("%s: %d chunks of %d tokens, and %d of %d four at a time", protocol, p1, t1, p4, t4)
		}
	}
}
