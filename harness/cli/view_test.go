package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/harness/cli"
	"assay/results"
	"assay/results/store"
	"assay/results/viewer"
)

// tour is a small run of all studies on phantoms.
const tour = `name: tour
seed: 7
store: tour.sqlite
datasets: {chest: {kind: phantom, items: 3, size: 256}, cases: {kind: phantom, items: 2, size: 256, images: 2}}
backends: {p: {kind: phantom, protocol: ollama}}
models: {silent: {backend: p, model: silent-sycophant}, honest: {backend: p, model: honest}}
judges: {lexical: {kind: lexical}, second: {kind: lexical}}
telemetry: {hz: 20, devices: [phantom]}
studies:
  cot: {dataset: chest, timed: true, models: [honest], rubrics: {accuracy: [lexical, second]}}
  faithfulness: {dataset: chest, conditions: [sham, TB-LA-, VB-BB-, VO-BB], in_flight: 8, rubrics: {CF: [lexical, second], CA: [lexical], CT: [lexical]}}
  diagnosis: {dataset: cases, models: [silent], conditions: [expert-both, self-hint, LOO]}
`

var made, madeBeside, madeDefault string // the folders of stores that several tests look at

var toured = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "assay-tour-")
	if err != nil {
		return "", err
	}
	made = dir
	file := filepath.Join(dir, "bench.yaml")
	if err := os.WriteFile(file, []byte(tour), 0o600); err != nil {
		return "", err
	}
	var errs bytes.Buffer
	if code := cli.Main(context.Background(), []string{"assay", "run", "-c", file}, strings.NewReader(""), io.Discard, &errs); code != 0 {
		return "", fmt.Errorf("exit code %d: %s", code, errs.String())
	}
	return dir, nil
})

// storePages shows the tour as assay view does.
func storePages(t testing.TB) (dir, base string) {
	t.Helper()
	dir, err := toured()
	if err != nil {
		t.Fatal(err)
	}
	r, err := cli.OpenView(t.Context(), filepath.Join(dir, "tour.sqlite"), []string{"nothing.yaml", filepath.Join(dir, "bench.yaml")})
	if err != nil {
		t.Fatal(err)
	}
	v := viewer.New([]*viewer.Run{r})
	v.Refresh(t.Context(), r)
	srv := httptest.NewServer(viewer.Guard(viewer.Options{Listen: "127.0.0.1:0"}, v.Handler()))
	t.Cleanup(func() {
		srv.Close()
		r.Store.Close()
	})
	return dir, srv.URL
}

func get(t testing.TB, address string) string {
	t.Helper()
	res, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: status %d, %v: %.300s", address, res.StatusCode, err, b)
	}
	return string(b)
}

// storeRows are those of assay export.
func storeRows(t *testing.T, dir string) (out []map[string]any) {
	t.Helper()
	var b, errs bytes.Buffer
	if code := cli.Main(t.Context(), []string{"assay", "export", "--format", "jsonl", "--columns", "all", filepath.Join(dir, "tour.sqlite")}, strings.NewReader(""), &b, &errs); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	for line := range strings.Lines(b.String()) {
		row := map[string]any{}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		out = append(out, row)
	}
	return out
}

// TestTheIndexHoldsTheExport: every value of every trial in the viewer's index is that of
// assay export, which reads the store another way, and so is why there is none.
func TestTheIndexHoldsTheExport(t *testing.T) {
	t.Parallel()
	dir, _ := storePages(t)
	if tables, seen := holdsTheExport(t, dir); len(tables) != 3 || seen < 3000 {
		t.Errorf("%d studies, %d values", len(tables), seen)
	}
}

// holdsTheExport compares the indexes of a folder's tour with its export.
func holdsTheExport(t *testing.T, dir string) (tables []*viewer.Table, seen int) {
	t.Helper()
	r, err := cli.OpenView(t.Context(), filepath.Join(dir, "tour.sqlite"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Store.Close()
	if tables, err = r.Index.Tables(t.Context(), func(string, int) {}); err != nil {
		t.Fatal(err)
	}
	at := map[string]int{}
	for _, row := range storeRows(t, dir) {
		study := row["study"].(string)
		var table *viewer.Table
		for _, x := range tables {
			if x.Study == study {
				table = x
			}
		}
		if table == nil {
			t.Fatalf("no index of study %s", study)
		}
		n := at[study]
		at[study]++
		missing := map[string]string{}
		if why, ok := row["missing"].(string); ok {
			if err := json.Unmarshal([]byte(why), &missing); err != nil {
				t.Fatal(err)
			}
		}
		x := trialOf(t, table, n)
		for _, c := range table.Columns {
			want, named := row[c.Name]
			if !named {
				if c.Name != "against_baseline" && c.Name != "against_first_arm" {
					t.Fatalf("%s: the export has no column %s", study, c.Name)
				}
				continue
			}
			seen++
			switch v := x.Cell(c.Name); v.Kind {
			case viewer.Number:
				if v.Number != want {
					t.Fatalf("%s: %+v is %v, the export has %v", c.Name, x.Key, v.Number, want)
				}
			case viewer.Text:
				if v.Text != want {
					t.Fatalf("%s: %+v is %q, the export has %v", c.Name, x.Key, v.Text, want)
				}
			default:
				if want != nil || missing[c.Name] != v.Text {
					t.Fatalf("%s: %+v is missing because %q, the export has %v, missing because %q", c.Name, x.Key, v.Text, want, missing[c.Name])
				}
			}
		}
	}
	for _, x := range tables {
		if at[x.Study] != x.Rows {
			t.Errorf("study %s: %d trials in the index, %d in the export", x.Study, x.Rows, at[x.Study])
		}
		t.Cleanup(func() { x.Close() })
	}
	return tables, seen
}

func trialOf(t testing.TB, table *viewer.Table, row int) viewer.Trial {
	t.Helper()
	x, err := table.Trial(row)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// twoHosts is the tour, and two trials that were made again on another host with another
// GPU.
func twoHosts(t *testing.T) (dir string, again []results.Key) {
	t.Helper()
	made, err := toured()
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for _, name := range []string{"tour.sqlite", "bench.yaml"} {
		b, err := os.ReadFile(filepath.Join(made, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	st, err := store.Open(t.Context(), filepath.Join(dir, "tour.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	var trials []results.Trial
	for tr, err := range st.Trials(t.Context(), "cot") {
		if err != nil {
			t.Fatal(err)
		}
		if len(trials) < 2 {
			trials = append(trials, tr)
		}
	}
	second := results.Session{Origin: trials[0].Attempts[0].Started.Add(time.Hour), Host: &results.Host{Name: "box-2<b>"}, Places: map[string]results.Place{"honest": results.PlaceLocal},
		Holds: map[string]results.Hold{"honest": {Known: true, GPUs: []string{"A", "B"}, How: "processes"}}, Devices: []results.Watched{{Source: "nvml", ID: "A", Name: "T4", Kind: "gpu", About: []byte("{}")}, {Source: "nvml", ID: "B", Name: "T4", Kind: "gpu", About: []byte("{}")}}}
	if err := st.PutSession(t.Context(), &second); err != nil {
		t.Fatal(err)
	}
	for _, tr := range trials {
		tr.Key.Repeat, tr.Attempts[len(tr.Attempts)-1].Session = 1, second.ID
		if err := st.PutTrial(t.Context(), tr); err != nil {
			t.Fatal(err)
		}
		again = append(again, tr.Key)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, again
}

// TestHostsAreColumns: of a store with trials of two hosts and GPUs each trial has the host
// and the GPU that the export says; tables have them as columns, lists and orders, and a
// trial's page names its own. A store of one host has no such column.
func TestHostsAreColumns(t *testing.T) {
	t.Parallel()
	dir, again := twoHosts(t)
	tables, _ := holdsTheExport(t, dir)
	for _, x := range tables {
		if !x.Has("host") || !x.Has("gpu") {
			t.Fatalf("study %s has no host or no GPU", x.Study)
		}
		for row := range x.Rows {
			own := trialOf(t, x, row)
			k, host, gpu := own.Key, own.Cell("host").Text, own.Cell("gpu").Text
			if second := slices.Contains(again, k); second != (host == "box-2<b>") || second != (gpu == "2 x T4") || host == "" || gpu == "" {
				t.Errorf("%+v ran on %q, %q", k, host, gpu)
			}
		}
	}
	base, _ := opened(t, filepath.Join(dir, "tour.sqlite"))
	table := base + "/run/tour/trials?study=cot"
	page := get(t, table)
	for _, want := range []string{`<select name="is.host">`, `<option value="box-2&lt;b&gt;">box-2&lt;b&gt; (2)</option>`, `<select name="is.gpu">`, `<option value="2 x T4">2 x T4 (2)</option>`, "sort=host", "sort=gpu"} {
		if !strings.Contains(page, want) {
			t.Errorf("the table lacks %s", want)
		}
	}
	for _, q := range []string{"&is.host=box-2%3Cb%3E", "&is.gpu=2+x+T4", "&holds.gpu=t4"} {
		if chosen := get(t, table+q); !strings.Contains(chosen, "<b>2</b> of 8 trials") || strings.Count(chosen, "<td>box-2&lt;b&gt;</td>") != 2 {
			t.Errorf("%s leaves other trials", q)
		}
	}
	trial := get(t, base+html.UnescapeString(opens.FindStringSubmatch(get(t, table+"&sort=host"))[1]))
	if !strings.Contains(trial, "Asked by host box-2&lt;b&gt; · GPU: 2 x T4") {
		t.Error("the trial first by host does not say its own")
	}
	_, one := storePages(t)
	if page := get(t, one+"/run/tour/trials?study=cot"); strings.Contains(page, `.host"`) || strings.Contains(page, `value="host"`) {
		t.Error("a store of one host has a column of it")
	}
}

// TestHelpedAndHarmed: the two columns that compare a trial with another one say what
// the accuracy of both says.
func TestHelpedAndHarmed(t *testing.T) {
	t.Parallel()
	dir, _ := storePages(t)
	r, err := cli.OpenView(t.Context(), filepath.Join(dir, "tour.sqlite"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Store.Close()
	tables, err := r.Index.Tables(t.Context(), func(string, int) {})
	if err != nil {
		t.Fatal(err)
	}
	word := func(before, now viewer.Cell) string {
		if before.Kind != viewer.Number || now.Kind != viewer.Number {
			return ""
		}
		return map[[2]float64]string{{0, 0}: "wrong both times", {1, 1}: "right both times", {0, 1}: "helped", {1, 0}: "harmed"}[[2]float64{before.Number, now.Number}]
	}
	said := map[string]int{}
	for _, x := range tables {
		first := map[string]string{"cot": "direct", "faithfulness": "structured", "diagnosis": "mcq"}[x.Study]
		for n := range x.Rows {
			for column, change := range map[string]func(arm, condition *string){"against_baseline": func(_, c *string) { *c = "baseline" }, "against_first_arm": func(a, _ *string) { *a = first }} {
				own := trialOf(t, x, n)
				k := own.Key
				change(&k.Arm, &k.Condition)
				got, want := own.Cell(column), ""
				other, ok, err := x.Find(k)
				if err != nil {
					t.Fatal(err)
				}
				if ok && other.Row != n {
					want = word(other.Cell("accuracy"), own.Cell("accuracy"))
				}
				if got.Kind == viewer.Text && got.Text != want || got.Kind != viewer.Text && want != "" {
					t.Errorf("%s of %+v is %+v, want %q", column, own.Key, got, want)
				}
				if got.Kind == viewer.Text {
					said[column+" "+got.Text]++
				}
			}
		}
		x.Close()
	}
	if said["against_baseline harmed"] == 0 || said["against_first_arm helped"]+said["against_first_arm harmed"]+said["against_first_arm right both times"] == 0 {
		t.Errorf("said: %v", said)
	}
}

var opens = regexp.MustCompile(`class="open" href="([^"]*)"`)

// TestEveryTrialIsShown: each trial of the run has its page with what was sent: the
// prompt, the pictures that the body of its request holds, the times; and each item its
// matrix. Nothing was changed since, so that no digest differs.
func TestEveryTrialIsShown(t *testing.T) {
	t.Parallel()
	dir, base := storePages(t)
	all := storeRows(t, dir)
	n, added, compared, powered := 0, 0, 0, 0
	for i, row := range all {
		if i%3 != 0 && row["study"] == "faithfulness" { // enough of them
			continue
		}
		q := url.Values{}
		for _, name := range []string{"study", "model", "item", "arm", "condition"} {
			q.Set(name, row[name].(string))
		}
		q.Set("repeat", strconv.Itoa(int(row["repeat"].(float64))))
		page := get(t, base+"/run/tour/trial?"+q.Encode())
		n++
		for _, want := range []string{`data-pictures="`, `<h2>Prompt`, "curl -N", "<svg class=\"phases\"", "gold: <b>"} {
			if row["answer"] != nil && row["study"] != "diagnosis" && !strings.Contains(page, want) {
				t.Fatalf("%v: the page lacks %s:\n%s", q, want, page)
			}
		}
		if strings.Contains(page, "another digest") || row["study"] == "diagnosis" && !strings.Contains(page, "<h2>Prompt") {
			t.Fatalf("%v: what was sent is not shown: %s", q, regexp.MustCompile(`not shown: [^<]*`).FindString(page))
		}
		added += strings.Count(page, "<ins>")
		compared += strings.Count(page, "&#34;beside&#34;")
		powered += strings.Count(page, "on the same axis of time")
	}
	if n < 30 || added == 0 || compared == 0 || powered == 0 {
		t.Errorf("%d trials, %d prompts with additions, %d pictures beside the baseline's, %d with power", n, added, compared, powered)
	}
	table := get(t, base+"/run/tour/trials?study=faithfulness&is.condition=VB-BB-")
	link := html.UnescapeString(opens.FindStringSubmatch(table)[1])
	q := url.Values{}
	u, err := url.Parse(link)
	if err == nil {
		q = u.Query()
	}
	q.Set("n", "1")
	q.Set("turn", "1")
	picture, body := get(t, base+"/run/tour/picture?"+q.Encode()), get(t, base+"/run/tour/body?"+q.Encode())
	var sent struct{ Messages []struct{ Images [][]byte } }
	if err := json.Unmarshal([]byte(body), &sent); err != nil || len(sent.Messages) != 1 || len(sent.Messages[0].Images) != 1 || string(sent.Messages[0].Images[0]) != picture {
		t.Errorf("the picture is not the one in the request (%v)", err)
	}
	item := get(t, base+"/run/tour/item?study=faithfulness&item="+url.QueryEscape(q.Get("item")))
	if cells := strings.Count(item, `src="/run/tour/thumb?`); cells < 8 {
		t.Errorf("the item's page has %d pictures", cells)
	}
}

// TestEveryColumnOrders: the table of each study can be ordered by each of its columns,
// both ways, and lists to choose from say how many trials are left.
func TestEveryColumnOrders(t *testing.T) {
	t.Parallel()
	_, base := storePages(t)
	for _, study := range []string{"cot", "faithfulness", "diagnosis"} {
		page := get(t, base+"/run/tour/trials?study="+study)
		names := regexp.MustCompile(`name="show" value="([^"]*)"`).FindAllStringSubmatch(page, -1)
		if len(names) < 20 {
			t.Errorf("%s has %d columns", study, len(names))
		}
		for i, name := range names {
			sorted := get(t, base+"/run/tour/trials?study="+study+"&sort="+[]string{"", "-"}[i%2]+url.QueryEscape(html.UnescapeString(name[1])))
			if !strings.Contains(sorted, `aria-sort="`+[]string{"ascending", "descending"}[i%2]) {
				t.Errorf("%s by %s: the table does not say its order", study, name[1])
			}
		}
		choices := regexp.MustCompile(`<select name="(is\.[^"]*)">(.*?)</select>`).FindAllStringSubmatch(page, -1)
		tried := 0
		for _, c := range choices {
			for _, o := range regexp.MustCompile(`<option value="([^"]+)">[^<]* \((\d+)\)`).FindAllStringSubmatch(c[2], -1) {
				chosen := get(t, base+"/run/tour/trials?study="+study+"&"+url.QueryEscape(html.UnescapeString(c[1]))+"="+url.QueryEscape(html.UnescapeString(o[1])))
				if !strings.Contains(chosen, "<b>"+o[2]+"</b> of ") {
					t.Errorf("%s: %s = %s leaves another number of trials than %s", study, c[1], o[1], o[2])
				}
				tried++
			}
		}
		if tried < 5 {
			t.Errorf("%s: %d choices", study, tried)
		}
	}
}

// TestAnotherDigestIsNotShown: where what would be sent today is not what was sent, no
// prompt and no picture is shown, and the page says so; nor without the bench.yaml.
func TestAnotherDigestIsNotShown(t *testing.T) {
	t.Parallel()
	dir, base := storePages(t)
	table := get(t, base+"/run/tour/trials?study=faithfulness&is.condition=VB-BB-")
	link := html.UnescapeString(opens.FindStringSubmatch(table)[1])
	if page := get(t, base+link); !strings.Contains(page, "data-pictures") {
		t.Fatal("the picture is not shown while nothing is changed")
	}
	u, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	b, err := os.ReadFile(filepath.Join(dir, "tour.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "tour.sqlite")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	k := results.Key{Study: q.Get("study"), Model: q.Get("model"), Item: q.Get("item"), Arm: q.Get("arm"), Condition: q.Get("condition")}
	trial, ok, err := st.Trial(t.Context(), k)
	if err != nil || !ok {
		t.Fatalf("%+v: %v", k, err)
	}
	trial.Inputs = results.DigestOf([]byte("something else"))
	if err := st.PutTrial(t.Context(), trial); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	for why, config := range map[string]string{"another digest than what was sent": filepath.Join(dir, "bench.yaml"), "is not the bench.yaml of this run": "none.yaml"} {
		r, err := cli.OpenView(t.Context(), path, []string{config})
		if err != nil {
			t.Fatal(err)
		}
		srv := httptest.NewServer(viewer.New([]*viewer.Run{r}).Handler())
		page := get(t, srv.URL+"/run/tour/trial?"+q.Encode())
		if !strings.Contains(page, why) || strings.Contains(page, "data-pictures") || strings.Contains(page, "<h2>Prompt") {
			t.Errorf("%s: it is shown, or not said: %s", why, regexp.MustCompile(`not shown: [^<]*`).FindString(page))
		}
		srv.Close()
		r.Store.Close()
	}
}
