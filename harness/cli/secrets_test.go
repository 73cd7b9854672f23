package cli_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
)

// TestNoSecretAnywhere: the judged model's server and the hosted judge's echo the keys that they are
// sent wherever they can, the proxy echoes its password, raters sign in with codes: no file but those that hold
// the keys has any of it, and nothing that is printed does, but for the codes, once.
func TestNoSecretAnywhere(t *testing.T) {
	t.Parallel()
	const own, judges, password = "sk-own-0123456789abcdefghijklmnop", "sk-judge-0123456789abcdefghijklm", "proxy-password-1234567890"
	var failed atomic.Bool
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		if got != own {
			t.Errorf("%s was sent %q", r.URL.Path, got)
		}
		w.Header().Set("X-Request-Id", got)
		switch {
		case r.Method == http.MethodGet:
			fmt.Fprintf(w, `{"object":"list","data":[{"id":"m","object":"model","owned_by":"%s","max_model_len":32768}],"version":"%[1]s"}`, got)
		case failed.CompareAndSwap(false, true):
			w.WriteHeader(500)
			fmt.Fprintf(w, `{"error":{"message":"no worker for %s"}}`, got)
		default:
			w.Header().Set("Content-Type", "text/event-stream")
			for _, chunk := range []string{"I was sent ", got[:9], got[9:], ". <answer>no</answer>"} {
				text, _ := json.Marshal(chunk)
				fmt.Fprintf(w, `data: {"id":"%s","object":"chat.completion.chunk","model":"m","system_fingerprint":"%[1]s","choices":[{"index":0,"delta":{"content":%s}}]}`+"\n\n", got, text)
			}
			fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\n"+`data: {"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":4}}`+"\n\ndata: [DONE]\n\n")
		}
	}))
	defer model.Close()
	judge := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		if got != judges {
			t.Errorf("the judge was sent %q", got)
		}
		verdict, _ := json.Marshal(`{"quote":"","verdict":"no_answer","why":"of ` + got + `"}`)
		fmt.Fprintf(w, `{"model":"j","system_fingerprint":"%s","choices":[{"message":{"content":%s},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":5}}`, got, verdict)
	}))
	defer judge.Close()
	proxy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close()
	var asked atomic.Int64
	basic := base64.StdEncoding.EncodeToString([]byte("u:" + password))
	go func() {
		for {
			c, err := proxy.Accept()
			if err != nil {
				return
			}
			if r, err := http.ReadRequest(bufio.NewReader(c)); err == nil && r.Header.Get("Proxy-Authorization") == "Basic "+basic {
				asked.Add(1)
				fmt.Fprintf(c, "HTTP/1.1 407 not %s of %s\r\nConnection: close\r\n\r\n", password, basic)
			}
			c.Close()
		}
	}()

	dir := t.TempDir()
	put(t, filepath.Join(dir, "keys", "own"), []byte(own+"\n"))
	put(t, filepath.Join(dir, "keys", "judge"), []byte(judges+"\n"))
	put(t, filepath.Join(dir, "bench.yaml"), []byte(`name: run
seed: 3
store: run.sqlite
datasets: {chest: {kind: phantom, items: 3, size: 256}}
backends: {o: {kind: openai, url: "`+model.URL+`", api_key_file: keys/own}}
models: {m: {backend: o, model: m, vision: true}}
judges:
  gpt: {kind: hosted, provider: openai, url: "`+judge.URL+`", model: j, api_key_file: keys/judge, sampling: {max_tokens: 100}}
  far: {kind: hosted, provider: openai, url: "https://judge.invalid/v1", model: j, api_key_file: keys/judge, sampling: {max_tokens: 100}, timeouts: {busy: 1s}}
studies: {cot: {dataset: chest, arms: [direct], timed: false, rubrics: {accuracy: [gpt, far]}}}
`))
	all := ""
	command := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("assay", args...)
		cmd.Dir = dir
		address := "http://u:" + password + "@" + proxy.Addr().String()
		if args[0] == "judge" { // one that cannot be read
			address = "http://u:" + password + "@127.0.0.1:port"
		}
		cmd.Env = append(os.Environ(), "HTTPS_PROXY="+address)
		out, err := cmd.CombinedOutput()
		if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		all += string(out)
		return string(out)
	}
	has := func(out, words string) {
		t.Helper()
		if !strings.Contains(out, words) {
			t.Fatalf("no %q in:\n%s", words, out)
		}
	}
	has(command("doctor"), "judge gpt: a short request was answered")
	command("run")
	has(command("report", "--all"), "judge far")
	if asked.Load() == 0 {
		t.Fatal("the proxy was not asked")
	}
	command("judge")
	has(command("report", "--all"), "j at hosted openai")
	has(command("show", "--item", "case-00001"), "I was sent [key]")
	for _, rows := range []string{"trials", "judgments", "attempts"} {
		if out := command("export", "--rows", rows); strings.Count(out, "\n") < 3 {
			t.Errorf("export of %s: %s", rows, out)
		}
		command("export", "--rows", rows, "--out", rows+".parquet")
		command("export", "--rows", rows, "--out", rows+".jsonl")
	}
	has(command("people", "serve", "--proxy", "https://u:"+password+"@study.example.org"), "found \"https://u:xxxxx@study.example.org\"")
	has(command("view", "--proxy", "https://u:"+password+"@%zz"), "found one that cannot be read")
	has(command("people", "sample", "--by", "none", "--items", "2", "--calibration", "0", "--out", "cases.jsonl"), "")

	// A rater signs in, once with a wrong code, and submits a case.
	serve := exec.Command("assay", "people", "serve", "--rater", "anna")
	serve.Dir = dir
	var told bytes.Buffer
	serve.Stderr = &told
	pipe, err := serve.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	defer serve.Process.Kill()
	secrets := map[string]string{"the model's key": own, "the judge's key": judges, "the proxy's password": password, "the proxy's password, encoded": basic}
	address := ""
	lines := bufio.NewReader(pipe)
	for address == "" {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("%s%s: %v", told.String(), line, err)
		}
		if name, code, ok := strings.Cut(strings.TrimPrefix(line, "code of "), ": "); ok && name != line {
			secrets["the code of "+name] = strings.TrimSpace(code)
			secrets["the code of "+name+", as it is hashed"] = strings.ReplaceAll(strings.TrimSpace(code), "-", "")
			continue // which is printed here, once
		}
		all += line
		if _, rest, ok := strings.Cut(line, "study server at "); ok {
			address, _, _ = strings.Cut(rest, " ")
		}
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	send := func(method, path, kind, body string, head ...string) (*http.Response, string) {
		t.Helper()
		r, err := http.NewRequest(method, strings.TrimSuffix(address, "/")+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", kind)
		for i := 0; i+1 < len(head); i += 2 {
			r.Header.Set(head[i], head[i+1])
		}
		res, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, _ := io.ReadAll(res.Body)
		return res, string(b)
	}
	const form = "application/x-www-form-urlencoded"
	wrong := "ABCD-EFGH-JKMN-PQRS"
	secrets["a wrong code"] = wrong
	if res, page := send("POST", "/sign-in", form, url.Values{"code": {wrong}}.Encode()); res.StatusCode != 403 || strings.Contains(page, wrong) {
		t.Errorf("a wrong code: %s %s", res.Status, page)
	}
	res, _ := send("POST", "/sign-in", form, url.Values{"code": {secrets["the code of anna"]}}.Encode())
	if len(res.Cookies()) != 1 {
		t.Fatal(res.Status)
	}
	token := res.Cookies()[0]
	secrets["the session's token"] = token.Value
	cookie := token.Name + "=" + token.Value
	_, page := send("GET", "/case", "", "", "Cookie", cookie)
	all += page
	found := regexp.MustCompile(`data-proof="([^"]+)"`).FindStringSubmatch(page)
	if found == nil {
		t.Fatal(page)
	}
	for i, field := range []string{"accuracy", ""} {
		kind, value := "rate", []string{"1"}
		if field == "" {
			kind, value = "submit", nil
		}
		body, _ := json.Marshal(map[string]any{"id": fmt.Sprint("click-number-", i), "kind": kind, "position": 1, "field": field, "value": value})
		if res, said := send("POST", "/save", "application/json", string(body), "Cookie", cookie, "X-Assay-Proof", found[1]); res.StatusCode != 200 {
			t.Errorf("%s: %s %s", body, res.Status, said)
		}
	}
	// Killed right after it said that the case is kept, it has kept it.
	if err := serve.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(lines)
	_ = serve.Wait()
	all += string(rest) + told.String()
	has(command("people", "export", "--out", "ratings.csv", "--verdicts", "verdicts.jsonl"), "ratings.csv: 1 ratings; 0 cases")
	command("people", "agree", "--draws", "50", "--ratings", "ratings.csv")

	for what, s := range secrets {
		if strings.Contains(all, s) {
			t.Errorf("%s was printed:\n%s", what, all[max(0, strings.Index(all, s)-300):strings.Index(all, s)])
		}
	}
	files := 0
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Base(filepath.Dir(path)) == "keys" {
			return err
		}
		files++
		b, err := os.ReadFile(path)
		for what, s := range secrets {
			if bytes.Contains(b, []byte(s)) || bytes.Contains(b, []byte(s[:min(len(s), 20)])) {
				t.Errorf("%s is in %s", what, path)
			}
		}
		return err
	})
	if err != nil || files < 12 {
		t.Errorf("%d files, %v", files, err)
	}
}
