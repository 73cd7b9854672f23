package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"assay/harness/cli"
	"assay/harness/compare"
	"assay/results"
	"assay/results/stats"
	"assay/results/viewer"
)

// seeing and blind are readers of one name on the same cases; one of them looks.
var besides = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "assay-besides-")
	if err != nil {
		return "", err
	}
	madeBeside = dir
	for name, reader := range map[string]string{"seeing": "honest", "blind": "blind"} {
		file := filepath.Join(dir, name+".yaml")
		text := fmt.Sprintf(`name: %s
seed: 1
store: %s.sqlite
telemetry: {devices: none}
datasets: {chest: {kind: phantom, items: 20, size: 256}}
backends: {p: {kind: phantom, protocol: ollama}}
models: {reader: {backend: p, model: %s}, other: {backend: p, model: honest}}
judges: {lexical: {kind: lexical}}
studies: {cot: {dataset: chest, arms: [direct, cot], timed: false, in_flight: 8, rubrics: {accuracy: [lexical]}}}
`, name, name, reader)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return "", err
		}
		var errs bytes.Buffer
		if code := cli.Main(context.Background(), []string{"assay", "run", "-c", file}, strings.NewReader(""), io.Discard, &errs); code != 0 {
			return "", fmt.Errorf("exit code %d: %s", code, errs.String())
		}
	}
	return dir, nil
})

// opened shows stores as assay view does, and makes comparisons.
func opened(t testing.TB, stores ...string) (string, []*viewer.Run) {
	t.Helper()
	var runs []*viewer.Run
	for _, path := range stores {
		r, err := cli.OpenView(t.Context(), path, []string{strings.TrimSuffix(path, ".sqlite") + ".yaml", filepath.Join(filepath.Dir(path), "bench.yaml")})
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, r)
	}
	v := viewer.New(runs)
	v.Comparer = cli.Comparer{}
	for _, r := range runs {
		v.Refresh(t.Context(), r)
	}
	var work sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	work.Go(func() { v.Compare(ctx) })
	srv := httptest.NewServer(viewer.Guard(viewer.Options{Listen: "127.0.0.1:0"}, v.Handler()))
	t.Cleanup(func() {
		srv.Close()
		cancel()
		work.Wait()
		for _, r := range runs {
			r.Store.Close()
		}
	})
	return srv.URL, runs
}

// compared is the page of a comparison once it is made.
func compared(t testing.TB, address string) string {
	t.Helper()
	for {
		if page := get(t, address); !strings.Contains(page, `data-live="`) {
			return page
		}
	}
}

// storeTidy is the text of a piece of a page, without the numbers of verdicts.
func storeTidy(s string) string {
	s = regexp.MustCompile(`<sup>[^<]*</sup>|</?mark>`).ReplaceAllString(s, "")
	return strings.Join(strings.Fields(html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(s, " "))), " ")
}

var (
	differences = regexp.MustCompile(`(?s)<table class="differences">.*?<tbody>(.*?)</tbody>`)
	tableRows   = regexp.MustCompile(`(?s)<tr( class="\w+")?>(.*?)</tr>`)
	tableCells  = regexp.MustCompile(`(?s)<t[dh][^>]*>(.*?)</t[dh]>`)
)

// TestTwoStoresBesideEachOther: three stores at once. Each run's pages show its own
// trials; a comparison has the numbers of assay compare, in its order; items that changed
// lead to both trials; other data is refused, and said why.
func TestTwoStoresBesideEachOther(t *testing.T) {
	t.Parallel()
	dir, err := besides()
	if err != nil {
		t.Fatal(err)
	}
	third, err := toured()
	if err != nil {
		t.Fatal(err)
	}
	a, b := filepath.Join(dir, "seeing.sqlite"), filepath.Join(dir, "blind.sqlite")
	base, runs := opened(t, a, b, filepath.Join(third, "tour.sqlite"))

	list := get(t, base+"/")
	answers := map[string]map[results.Key]string{}
	for i, r := range runs {
		if !strings.Contains(list, `href="/run/`+r.Name+`/"`) {
			t.Errorf("%s is not in the list", r.Name)
		}
		answers[r.Name] = map[results.Key]string{}
		for tr, err := range r.Store.Trials(t.Context(), "cot") {
			if err != nil {
				t.Fatal(err)
			}
			if last, ok := tr.Last(); ok && last.Output != nil {
				answers[r.Name][tr.Key] = last.Output.Answer
			}
		}
		table := get(t, base+"/run/"+r.Name+"/trials?study=cot")
		links := opens.FindAllStringSubmatch(table, -1)
		if want := []string{"<b>80</b> of 80 trials", "<b>80</b> of 80 trials", "<b>6</b> of 6 trials"}[i]; !strings.Contains(table, want) {
			t.Errorf("%s has not %s", r.Name, want)
		}
		for n, l := range links {
			if !strings.HasPrefix(html.UnescapeString(l[1]), "/run/"+r.Name+"/trial?") {
				t.Errorf("%s leads to %s", r.Name, l[1])
			}
			if n%9 != 0 {
				continue
			}
			u, err := url.Parse(html.UnescapeString(l[1]))
			if err != nil {
				t.Fatal(err)
			}
			q := u.Query()
			k := results.Key{Study: "cot", Model: q.Get("model"), Item: q.Get("item"), Arm: q.Get("arm"), Condition: q.Get("condition")}
			whole := get(t, base+u.String())
			if _, final, ok := strings.Cut(answers[r.Name][k], "Final answer: "); ok && !strings.Contains(whole, `<b class="answer">`+final+`</b>`) {
				t.Errorf("%s, %+v: the answer in one line is not %q", r.Name, k, final)
			}
			if page := storeTidy(whole); answers[r.Name][k] == "" || !strings.Contains(page, storeTidy(answers[r.Name][k])) {
				t.Errorf("%s, %+v: the page lacks the run's own answer", r.Name, k)
			}
		}
	}

	var out, errs bytes.Buffer
	if code := cli.Main(t.Context(), []string{"assay", "compare", "--json", "--items", "0", a, b}, strings.NewReader(""), &out, &errs); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	var want []compare.Comparison
	if err := json.Unmarshal(out.Bytes(), &want); err != nil || len(want) != 1 {
		t.Fatalf("%d comparisons, %v", len(want), err)
	}
	address := base + "/compare?a=seeing&b=blind&b=tour&all=1"
	page := compared(t, address)
	for _, text := range []string{"cannot be compared: data set chest is ", "their items are not the same questions", "What differs besides", "SYNTHETIC"} {
		if !strings.Contains(page, text) {
			t.Errorf("the page does not say %q", text)
		}
	}
	found := tableRows.FindAllStringSubmatch(differences.FindStringSubmatch(page)[1], -1)
	if len(found) != len(want[0].Rows) || want[0].Changed == 0 || want[0].Changed == len(found) {
		t.Fatalf("%d rows, assay compare has %d, of which %d changed", len(found), len(want[0].Rows), want[0].Changed)
	}
	for i, r := range want[0].Rows {
		var got []string
		for _, c := range tableCells.FindAllStringSubmatch(found[i][2], -1) {
			got = append(got, storeTidy(c[1]))
		}
		name := strings.ReplaceAll(r.Score, "_", " ")
		if r.Judge != "" {
			name += " by " + r.Judge
		}
		changed := "none"
		if r.Up+r.Down > 0 {
			changed = fmt.Sprintf("%d up, %d down", r.Up, r.Down)
		}
		if row := []string{name, r.Study, r.Model, r.Arm, r.Condition, stats.Significant(r.A, 4), stats.Significant(r.B, 4), r.Difference(), r.Chance(), fmt.Sprint(r.Items), changed, r.Direction()}; !slices.Equal(got, row) {
			t.Errorf("row %d is %q, assay compare has %q", i, got, row)
		}
		if marked := strings.Contains(found[i][1], "worse"); marked != (r.Direction() == "worse") {
			t.Errorf("row %d: %q for %+v", i, found[i][1], r)
		}
	}
	alone := tableRows.FindAllString(differences.FindStringSubmatch(compared(t, strings.TrimSuffix(address, "&all=1")))[1], -1)
	if len(alone) != want[0].Changed {
		t.Errorf("%d rows are shown as beyond noise, want %d", len(alone), want[0].Changed)
	}

	for i, r := range want[0].Rows {
		if !r.Changed {
			continue
		}
		items := get(t, base+html.UnescapeString(regexp.MustCompile(`class="open" href="([^"]*)"`).FindStringSubmatch(found[i][2])[1]))
		if !strings.Contains(items, fmt.Sprintf("%d items, those first", r.Up+r.Down)) || len(r.Moved) != r.Up+r.Down {
			t.Errorf("%+v: the page has other items", r)
		}
		links := opens.FindAllStringSubmatch(items, -1)
		if len(links) != len(r.Moved) {
			t.Fatalf("%d items, %d links", len(r.Moved), len(links))
		}
		for n, m := range r.Moved {
			both := get(t, base+html.UnescapeString(links[n][1]))
			text := storeTidy(both)
			if !strings.Contains(text, fmt.Sprintf("%s: %s %s → %s", m.Item, strings.ReplaceAll(r.Score, "_", " "), stats.Significant(m.A, 3), stats.Significant(m.B, 3))) || !strings.Contains(text, fmt.Sprintf("%d of %d", n+1, len(r.Moved))) {
				t.Errorf("item %d is not %+v: %.300s", n, m, text)
			}
			k := results.Key{Study: r.Study, Model: r.Model, Item: m.Item, Arm: r.Arm, Condition: r.Condition}
			x, y := answers["seeing"][k], answers["blind"][k]
			at, then := strings.Index(text, "B: blind, "), strings.Index(text, "A: seeing, ")
			if at < 0 || then < 0 || then > at || !strings.Contains(text[then:at], storeTidy(x)) || !strings.Contains(text[at:], storeTidy(y)) {
				t.Errorf("%s: the answers are not those of both runs", m.Item)
			}
			if (n > 0) != strings.Contains(both, `rel="prev"`) || (n+1 < len(links)) != strings.Contains(both, `rel="next"`) {
				t.Errorf("item %d of %d leads elsewhere", n+1, len(links))
			}
		}
	}
	v := viewer.New(runs) // without Compare
	v.Comparer = cli.Comparer{}
	for _, r := range runs {
		v.Refresh(t.Context(), r)
	}
	for address, status := range map[string]int{"/compare": 200, "/compare?a=seeing&b=blind": 200, "/compare?a=nobody": 404, "/compare?a=seeing&b=nobody": 404, "/compare?b=blind&a=seeing&page=0": 400, "/compare/items?a=seeing&b=blind&study=none": 404, "/compare/trial?a=seeing&b=blind&study=cot&n=99": 404, "/compare/items?a=x&b=blind": 404} {
		rec := httptest.NewRecorder()
		v.Handler().ServeHTTP(rec, httptest.NewRequest("GET", address, nil))
		if rec.Code != status {
			t.Errorf("%s: status %d, want %d", address, rec.Code, status)
		}
		if waits := strings.Contains(rec.Body.String(), "waits to be compared"); waits != (address == "/compare?a=seeing&b=blind") || waits != strings.Contains(rec.Body.String(), `data-live="`) {
			t.Errorf("%s: waits %v", address, waits)
		}
	}
}
