package curate

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"

	"assay/backends"
	"assay/backends/kinds"
	"assay/backends/phantom"
	"assay/backends/wire"
	"assay/harness/dataset"
	films "assay/harness/dataset/phantom"
	"assay/harness/run"
	"assay/results"
	"assay/results/store"
	"assay/timing"
)

// TestMain has garbage collected less often: what these tests make is small and soon gone.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	m.Run()
}

func settings() ContaminationSettings {
	return ContaminationSettings{Of: ofQuestion, Reach: 2, Threshold: .5, Seed: 1}
}

func contaminationStore(t *testing.T) *store.Store {
	t.Helper()
	st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "c.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return st
}

func textsOf(list ...string) []sourceText {
	var out []sourceText
	for i, s := range list {
		out = append(out, sourceText{Item: fmt.Sprint(i), Digest: results.DigestOf([]byte(s)), Text: s})
	}
	return out
}

// TestTheMemoriserAloneIsFlagged: of phantoms on all three servers, raw and in a chat,
// those who learnt the data set by heart are flagged, and no other.
func TestTheMemoriserAloneIsFlagged(t *testing.T) {
	set, err := dataset.Open(dataset.Source{Name: "chest", Kind: dataset.KindPhantom, Items: 12, Size: 256, Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	texts, without := texts(set, ofQuestion)
	texts = texts[:14]
	if without != 0 {
		t.Fatalf("%d without a question", without)
	}
	for _, c := range []struct {
		protocol, model string
		chat            bool
		way             askingWay
		cut             cut
		known           bool
	}{
		{"ollama", "memoriser", false, rawText, cutByWords, true},
		{"llamacpp", "memoriser", false, rawText, byTokens, true},
		{"vllm", "memoriser", true, chat, byTokens, true},
		{"ollama", "honest", true, chat, cutByWords, false},
		{"llamacpp", "thinker", true, chat, byTokens, false},
		{"vllm", "honest", false, rawText, byTokens, false},
		{"llamacpp", "text-only", false, rawText, byTokens, false},
	} {
		p, err := phantom.Listen("127.0.0.1:0", phantom.Options{Protocol: c.protocol, Seed: 1, Skill: new(films.Films)})
		if err != nil {
			t.Fatal(err)
		}
		kind, _ := kinds.Named("phantom", c.protocol)
		be, err := kind.Connect(wire.Config{URL: p.URL})
		if err != nil {
			t.Fatal(err)
		}
		with := settings()
		with.Chat = c.chat
		m, err := continueTexts(t.Context(), contaminationStore(t), asked{Name: "m", End: run.Endpoint{Backend: be, Model: c.model}, Plain: be, InFlight: 4, Notes: io.Discard}, with, texts)
		p.Close()
		if err != nil || m.Failed > 0 || len(m.Answers) != len(texts) {
			t.Fatalf("%+v: %d of %d answers, %v", c, len(m.Answers), len(texts), err)
		}
		if a := m.Answers[3]; a.Way != c.way || a.Cut != c.cut {
			t.Errorf("%+v: asked %s, halved by %s", c, a.Way, a.Cut)
		}
		r := measureContamination([]continuedModel{m}, with)[0]
		if r.Flagged == nil || *r.Flagged != c.known {
			t.Errorf("%+v: flagged %v, known %v, unrelated %v", c, r.Flagged, *r.Known.Value, *r.UnrelatedKnown.Value)
		}
		if v := *r.UnrelatedRho.Value; v < .1 || v > .4 {
			t.Errorf("%+v: unrelated texts have a mean rho of %.3f", c, v)
		}
	}
}

// fake is a server that goes on with texts as a test wants.
type fake struct {
	version string
	say     func(ctx context.Context, head string) (string, error)

	mu    sync.Mutex
	asked []string
}

func (f *fake) Identify(_ context.Context, model string) (backends.Identity, error) {
	return backends.Identity{Server: "fake", Version: f.version, Model: model}, nil
}

func (f *fake) count(head string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, head)
}

func (f *fake) Generate(ctx context.Context, req *backends.Request, _ *timing.Recorder) (*backends.Response, error) {
	head, ok := strings.CutPrefix(req.Messages[0].Text, prompt)
	if !ok {
		return nil, fmt.Errorf("asked %q", req.Messages[0].Text)
	}
	f.count(head)
	said, err := f.say(ctx, head)
	return &backends.Response{Answer: said, Finish: backends.FinishStop}, err
}

// raw is a fake with an endpoint without a template.
type raw struct{ *fake }

func (r raw) Continue(ctx context.Context, c backends.Continuation) (backends.Continued, error) {
	r.count(c.Text)
	said, err := r.say(ctx, c.Text)
	return backends.Continued{Text: said, Finish: backends.FinishLength}, err
}

// cutter is one with a tokenizer: a token is a letter, and text is what it gives back.
type cutter struct {
	raw
	text func(string) string
}

func (c cutter) Tokens(_ context.Context, _, text string) ([]int, error) {
	var ids []int
	for _, r := range text {
		ids = append(ids, int(r))
	}
	return ids, nil
}

func (c cutter) Text(_ context.Context, _ string, ids []int) (string, error) {
	var b strings.Builder
	for _, id := range ids {
		b.WriteRune(rune(id))
	}
	return c.text(b.String()), nil
}

func runContamination(t *testing.T, ctx context.Context, st *store.Store, be backends.Backend, texts []sourceText) (continuedModel, error) {
	t.Helper()
	return continueTexts(ctx, st, asked{Name: "m", End: run.Endpoint{Backend: be, Model: "m"}, Plain: be, InFlight: 1, Notes: io.Discard}, settings(), texts)
}

func numbered(n int) []sourceText {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf("a%d b%d c%d d%d", i, i, i, i))
	}
	return textsOf(list...)
}

// TestNothingIsAskedTwice: after an interruption the rest is asked for, and failures.
func TestNothingIsAskedTwice(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	st, texts := contaminationStore(t), numbered(10)
	f := &fake{}
	f.say = func(ctx context.Context, head string) (string, error) {
		if len(f.asked) == 5 {
			stop() // while the fifth is on its way
			return "", ctx.Err()
		}
		return "said to " + head, nil
	}
	if _, err := runContamination(t, ctx, st, raw{f}, texts); !errors.Is(err, context.Canceled) || len(f.asked) != 5 {
		t.Fatalf("%d asked, %v", len(f.asked), err)
	}
	f.asked, f.say = nil, func(_ context.Context, head string) (string, error) {
		if strings.HasPrefix(head, "a7") {
			return "", &backends.Error{Kind: backends.ErrContextExceeded, Message: "too long"}
		}
		return "said to " + head, nil
	}
	m, err := runContamination(t, t.Context(), st, raw{f}, texts)
	if want := []string{"a4 b4", "a5 b5", "a6 b6", "a7 b7", "a8 b8", "a9 b9"}; err != nil || !slices.Equal(f.asked, want) {
		t.Fatalf("asked %q, %v", f.asked, err)
	}
	if m.Failed != 1 || len(m.Answers) != 9 || !strings.Contains(m.Why, "too long") || m.Answers[4].Said != "said to a4 b4" || m.Answers[4].Rest != "c4 d4" {
		t.Errorf("%+v", m)
	}
	r := measureContamination([]continuedModel{m}, settings())[0]
	if r.Known.N != 9 || r.Known.Invalid != 1 {
		t.Errorf("n %d, %d left out", r.Known.N, r.Known.Invalid)
	}
	f.asked = nil
	if m, err = runContamination(t, t.Context(), st, raw{f}, texts); err != nil || !slices.Equal(f.asked, []string{"a7 b7"}) || m.Failed != 1 {
		t.Errorf("a failure is asked for again: %q, %v", f.asked, err)
	}
	// Another state of the model has said nothing yet.
	f.version, f.asked = "2", nil
	if m, err = runContamination(t, t.Context(), st, raw{f}, texts); err != nil || len(f.asked) != 10 || m.Former != 9 || len(m.Answers) != 9 {
		t.Errorf("another version: %d asked, %d former, %d answers, %v", len(f.asked), m.Former, len(m.Answers), err)
	}
}

// TestAServerWithoutTheEndpointIsAskedInAChat, and one that is gone is given up.
func TestAServerWithoutTheEndpointIsAskedInAChat(t *testing.T) {
	const givenUp = 5
	for status, way := range map[int]askingWay{404: chat, 405: chat, 500: rawText} {
		kind := backends.ErrRefused
		if status == 500 {
			kind = backends.ErrLoading
		}
		f := &fake{say: func(context.Context, string) (string, error) { return "so", nil }}
		no := &fake{say: func(context.Context, string) (string, error) {
			return "", &backends.Error{Kind: kind, Status: status}
		}}
		be := struct {
			*fake
			backends.Continuer
		}{f, raw{no}}
		m, err := runContamination(t, t.Context(), contaminationStore(t), be, numbered(9))
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case way == chat && (len(m.Answers) != 9 || m.Answers[0].Way != chat || len(no.asked) != 1):
			t.Errorf("HTTP %d: %+v", status, m)
		case way == rawText && (m.Failed != 9 || len(f.asked) != 0 || len(no.asked) > givenUp+3):
			t.Errorf("HTTP %d: %d failed after %d requests, %d in a chat", status, m.Failed, len(no.asked), len(f.asked))
		}
	}
}

// TestHalves: where texts are cut, and that nothing is lost where they are.
func TestHalves(t *testing.T) {
	for _, c := range []struct{ text, head, rest string }{
		{"", "", ""}, {"one", "", "one"}, {"one two", "one", "two"}, {"one two three", "one", "two three"},
		{"aa a  aa\n\na b", "aa a", "aa\n\na b"},
	} {
		if head, rest := halves(c.text); head != c.head || rest != c.rest {
			t.Errorf("%q: %q and %q", c.text, head, rest)
		}
	}
	same := func(s string) string { return s }
	for _, c := range []struct {
		text, head, rest string
		cut              cut
		back             func(string) string
	}{
		{"abcd", "ab", "cd", byTokens, same},
		{"abcde", "ab", "cde", byTokens, same},
		{"ab cd", "ab", "cd", byTokens, same},
		{"äöü", "ä", "öü", byTokens, func(s string) string { return " " + s + "\uFFFD" }}, // half a letter, and a tokenizer's space
		{"Ab cd Ef gh", "Ab cd", "Ef gh", cutByWords, strings.ToLower},                    // a tokenizer that changes what it reads
		{"a", "", "", cutByWords, same},                                                   // too short
	} {
		f := &fake{say: func(context.Context, string) (string, error) { return "x", nil }}
		m, err := runContamination(t, t.Context(), contaminationStore(t), cutter{raw{f}, c.back}, textsOf(c.text, "other words here"))
		if err != nil || len(m.Answers) != 2 {
			t.Fatal(m, err)
		}
		if a := m.Answers[0]; a.Cut != c.cut || a.Rest != c.rest || a.Head != c.head && c.rest != "" {
			t.Errorf("%q: %+v", c.text, a)
		}
		if c.rest == "" && len(f.asked) != 1 {
			t.Errorf("%q: asked %q", c.text, f.asked)
		}
	}
}

// known are answers of which the first k repeat what was held back.
func known(k, n int) continuedModel {
	var m continuedModel
	for i := range n {
		a := answer{Item: fmt.Sprint(i), halved: halved{Rest: strings.Repeat(string(rune('a'+i)), 8), Cut: cutByWords}, Said: strings.Repeat("-", 8), Way: rawText}
		if i < k {
			a.Said = a.Rest
		}
		m.Answers = append(m.Answers, a)
	}
	return m
}

// TestWhatIsFlagged: a model by the interval of the difference, a text at the threshold
// by windows and above it as first published; unrelated texts are never one's own.
func TestWhatIsFlagged(t *testing.T) {
	for k, want := range map[int]bool{0: false, 1: false, 12: true, 25: true} {
		r := measureContamination([]continuedModel{known(k, 25)}, settings())[0]
		if *r.Flagged != want || *r.Known.Value != 4*float64(k) || *r.UnrelatedKnown.Value != 0 || *r.Gain.Value != 4*float64(k) || *r.Rho.Value*25 != float64(k) {
			t.Errorf("%d of 25: flagged %v, known %v, difference %v", k, *r.Flagged, *r.Known.Value, *r.Gain.Value)
		}
		for _, m := range r.Measured {
			if m.Other == m.Item {
				t.Errorf("%d: item %s is compared with itself", k, m.Item)
			}
		}
	}
	whole := measureContamination([]continuedModel{known(25, 25)}, settings())[0]
	if *whole.Original.Value != 100 || *whole.UnrelatedOrig.Value != 0 || *whole.UnrelatedRho.Value != 0 {
		t.Errorf("all known: %v %% as first published, %v %% unrelated, unrelated rho %v", *whole.Original.Value, *whole.UnrelatedOrig.Value, *whole.UnrelatedRho.Value)
	}
	half := continuedModel{Answers: []answer{{Item: "1", halved: halved{Rest: "abcd"}, Said: "abxy"}, {Item: "2", halved: halved{Rest: "efgh"}, Said: "efxy"}}}
	r := measureContamination([]continuedModel{half}, settings())[0]
	if *r.Known.Value != 100 || *r.Original.Value != 0 {
		t.Errorf("rho of 0.5: %v %% known by windows, %v %% as first published", *r.Known.Value, *r.Original.Value)
	}
	// A model that says the same whatever it is given knows nothing, however alike texts are.
	var parrot continuedModel
	for i := range 30 {
		parrot.Answers = append(parrot.Answers, answer{Item: fmt.Sprint(i), halved: halved{Rest: fmt.Sprintf("the lungs are clear and the heart is of size %d", i)}, Said: "the lungs are clear and the heart is of size"})
	}
	if r := measureContamination([]continuedModel{parrot}, settings())[0]; *r.Flagged || *r.Known.Value != 100 {
		t.Errorf("texts that are alike: flagged %v, known %v", *r.Flagged, *r.Known.Value)
	}
	for n, m := range map[int]continuedModel{0: {}, 1: known(1, 1)} {
		if r := measureContamination([]continuedModel{m}, settings())[0]; r.Flagged != nil || r.Known.Value != nil || r.Known.Why == "" {
			t.Errorf("%d texts: %+v", n, r.Known)
		}
	}
	short := known(2, 4)
	short.Answers = append(short.Answers, answer{Item: "short"})
	if r := measureContamination([]continuedModel{short}, settings())[0]; r.TooShort != 1 || r.Known.N != 4 || r.Known.Undefined != 1 {
		t.Errorf("a text that cannot be halved: %+v", r.Known)
	}
	// In a chat the beginning is often said again; at a raw endpoint it would be a continuation.
	for way, rho := range map[askingWay]float64{chat: 1, rawText: 0} {
		again := continuedModel{Answers: []answer{{Item: "1", halved: halved{Head: "1234567", Rest: "abcd"}, Said: "1234567 abcd", Way: way}, {Item: "2", halved: halved{Head: "x", Rest: "e"}, Said: "e", Way: way}}}
		if r := measureContamination([]continuedModel{again}, settings())[0]; r.Measured[0].Windowed.Similarity != rho {
			t.Errorf("%s: %+v", way, r.Measured[0].Windowed)
		}
	}
}

// TestTexts: each once, of cases the history, and only what is there.
func TestTexts(t *testing.T) {
	d := &dataset.Dataset{Items: []dataset.Item{{ID: "1", Question: "Which? "}, {ID: "2", Question: "Which?"}, {ID: "3", Question: "Where?"},
		{ID: "4", Question: "What?", Case: &dataset.Case{History: "A man of 40."}}, {ID: "5"}}}
	list, without := texts(d, ofQuestion)
	var got []string
	for _, x := range list {
		got = append(got, x.Item+" "+x.Text)
	}
	if want := []string{"1 Which?", "3 Where?", "4 A man of 40."}; !slices.Equal(got, want) || without != 1 {
		t.Errorf("%q, %d without", got, without)
	}
	if list, without := texts(d, ofFindings); len(list) != 0 || without != 5 {
		t.Errorf("findings: %v, %d without", list, without)
	}
}

// TestSectionAndTexts: what is said in words follows from the numbers.
func TestSectionAndTexts(t *testing.T) {
	knows, not, none := known(20, 25), known(0, 25), continuedModel{Name: "gone", Failed: 25, Why: "no connection"}
	knows.Name, not.Name = "knows", "not"
	list := measureContamination([]continuedModel{knows, not, none}, settings())
	s := Section(about{Dataset: "d", Texts: 25, Without: 1, Same: 2}, list, settings())
	all := strings.Join(append(append([]string{}, s.Notes...), s.Warnings...), "\n")
	for _, want := range []string{"knows knows texts of this data set: it went on with 80.0 %", "not: no sign", "gone: nothing can be said", "gone: 25 texts have no continuation (no connection)", "1 item has no text", "2 items have a text that another item has"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not said in\n%s", want, all)
		}
	}
	for i, want := range []string{"yes", "no", "unknown"} {
		if row := s.Tables[0].Rows[i]; row[len(row)-1].Text != want {
			t.Errorf("%s: flagged %q", row[0].Text, row[len(row)-1].Text)
		}
	}
	var b bytes.Buffer
	if err := WriteTexts(&b, list); err != nil {
		t.Fatal(err)
	}
	if rows, err := csv.NewReader(&b).ReadAll(); err != nil || len(rows) != 51 || rows[1][0] != "knows" || rows[1][4] != "1" {
		t.Errorf("%d rows, %v", len(rows), err)
	}
}

// TestTablesByHand: of 25 texts the last 5 are known, each word for word; beside other texts nothing is.
func TestTablesByHand(t *testing.T) {
	m := known(0, 25)
	m.Name = "m"
	for i := 20; i < 25; i++ {
		m.Answers[i].Said = m.Answers[i].Rest
	}
	list := measureContamination([]continuedModel{m}, settings())
	s := Section(about{Dataset: "d", Texts: 25}, list, settings())
	at := func(table results.Table, row int, column string) results.Cell {
		return table.Rows[row][slices.IndexFunc(table.Columns, func(c results.Column) bool { return c.Name == column })]
	}
	for column, want := range map[string]float64{"known": 20, "unrelated": 0, "difference": 20, "rho": .2, "rho_unrelated": 0, "original": 20, "original_unrelated": 0} {
		if e := at(s.Tables[0], 0, column).Estimate; e.Value == nil || math.Abs(*e.Value-want) > 1e-9 {
			t.Errorf("%s is %+v, want %v", column, e, want)
		}
	}
	for row, item := range []string{"20", "21", "22", "23", "24"} {
		rho, unrelated := at(s.Tables[1], row, "rho").Estimate, at(s.Tables[1], row, "rho_unrelated").Estimate
		if got := at(s.Tables[1], row, "item").Text; got != item || *rho.Value != 1 || *unrelated.Value != 0 {
			t.Errorf("nearest %d is %s, rho %v, unrelated %v", row+1, got, *rho.Value, *unrelated.Value)
		}
	}
	var b bytes.Buffer
	if err := WriteTexts(&b, list); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for column, want := range map[string]string{"item": "24", "rho": "1", "original_ratio": "1", "rho_unrelated": "0", "original_ratio_unrelated": "0", "distance_chars": "0", "held_back_chars": "8"} {
		if got := rows[25][slices.Index(rows[0], column)]; got != want {
			t.Errorf("%s of the last text is %s, want %s", column, got, want)
		}
	}
}

// TestTheHistogramIsOfEachModelsTexts: each line is 100 % of its own texts; rho of 1 is in the last bin.
func TestTheHistogramIsOfEachModelsTexts(t *testing.T) {
	knows, not := known(20, 25), known(0, 10)
	knows.Name, not.Name = "knows", "not"
	f := bars(measureContamination([]continuedModel{knows, not}, settings()), settings())
	want := map[string][2]float64{"knows": {20, 80}, "not": {100, 0}, "unrelated halves": {100, 0}}
	for _, s := range f.Series {
		sum := 0.
		for _, p := range s.Samples[:bins] {
			sum += p[1]
		}
		if w := want[s.Name]; math.Abs(sum-100) > 1e-9 || s.Samples[0] != [2]float64{0, w[0]} || s.Samples[bins-1] != [2]float64{.95, w[1]} || s.Samples[bins] != [2]float64{1, w[1]} {
			t.Errorf("%s: %v %% in all, %v", s.Name, sum, s.Samples)
		}
	}
	if len(f.Series) != 3 || f.Alt != "knows has a median rho of 1.00; not has a median rho of 0.00." {
		t.Errorf("%d lines, %s", len(f.Series), f.Alt)
	}
}

// TestThePairedTestFlags: 4 known texts against 0 unrelated are never flagged, at any n; what is
// known of 2 texts has an interval with a width.
func TestThePairedTestFlags(t *testing.T) {
	for _, n := range []int{4, 10, 26} {
		r := measureContamination([]continuedModel{known(4, n)}, settings())[0]
		if r.P == nil || *r.P != 0.0625 || *r.Flagged {
			t.Errorf("4 known of %d against 0: p %v, flagged %v", n, r.P, *r.Flagged)
		}
	}
	one := measureContamination([]continuedModel{known(5, 26)}, settings())[0]
	two := measureContamination([]continuedModel{known(5, 26), known(0, 26)}, settings())
	if !*one.Flagged || *one.P != 0.03125 || *two[0].Flagged || *two[0].Holm != 0.0625 {
		t.Errorf("5 known: flagged %v alone (p %v), %v beside another model (Holm p %v)", *one.Flagged, *one.P, *two[0].Flagged, *two[0].Holm)
	}
	if k := measureContamination([]continuedModel{known(2, 2)}, settings())[0].Known; *k.Value != 100 || *k.Low > 50 || *k.High != 100 {
		t.Errorf("2 of 2 known: [%v, %v]", *k.Low, *k.High)
	}
	// A model that knows fewer texts than unrelated ones is not flagged, however sure that is.
	fewer := known(0, 26)
	r := measureContamination([]continuedModel{fewer}, settings())[0]
	other := map[string]string{}
	for _, m := range r.Measured {
		other[m.Item] = m.Other
	}
	for i := range fewer.Answers {
		for _, a := range fewer.Answers {
			if a.Item == other[fewer.Answers[i].Item] {
				fewer.Answers[i].Said = a.Rest
			}
		}
	}
	if r := measureContamination([]continuedModel{fewer}, settings())[0]; *r.Gain.Value != -100 || *r.Holm > 1e-6 || *r.Flagged {
		t.Errorf("unrelated texts alone are known: difference %v, p %v, flagged %v", *r.Gain.Value, *r.Holm, *r.Flagged)
	}
}

// TestTextsOfAnImage: 20 texts about 4 images, of which a model knows those of 2. That is no more
// than 2 cases say, and its interval is that of 4.
func TestTextsOfAnImage(t *testing.T) {
	m := known(10, 20)
	alone := measureContamination([]continuedModel{m}, settings())[0]
	for i := range m.Answers {
		m.Answers[i].Cluster = fmt.Sprint("image ", i/5)
	}
	r := measureContamination([]continuedModel{m}, settings())[0]
	if *r.P != 0.25 || *r.Flagged || !*alone.Flagged || *alone.P > 0.001 {
		t.Errorf("p %v over images, flagged %v; %v over texts, flagged %v", *r.P, *r.Flagged, *alone.P, *alone.Flagged)
	}
	for name, e := range map[string]*results.Estimate{"known": r.Known, "difference": r.Gain, "rho": r.Rho, "as first published": r.Original} {
		if e.Clusters != 4 || e.N != 20 {
			t.Errorf("%s: %d texts, %d images", name, e.N, e.Clusters)
		}
	}
	if w, v := *alone.Known.High-*alone.Known.Low, *r.Known.High-*r.Known.Low; v < 1.8*w {
		t.Errorf("known: %v points wide over images, %v over texts", v, w)
	}
	if w, v := *alone.Gain.High-*alone.Gain.Low, *r.Gain.High-*r.Gain.Low; v < 1.5*w {
		t.Errorf("difference: %v points wide over images, %v over texts", v, w)
	}
}

// TestSentencesFollowTheTest: of any number of known texts in any clusters, the sentence says what
// the column Flagged does.
func TestSentencesFollowTheTest(t *testing.T) {
	for k := range 13 {
		for size := 1; size <= 4; size++ {
			m := known(k, 26)
			m.Name = "m"
			for i := range m.Answers {
				m.Answers[i].Cluster = fmt.Sprint(i / size)
			}
			list := measureContamination([]continuedModel{m}, settings())
			s := Section(about{Dataset: "d", Texts: 26}, list, settings())
			row := s.Tables[0].Rows[0]
			flagged, said := row[len(row)-1].Text == "yes", strings.Contains(s.Notes[0], "knows texts of this data set")
			if flagged != said || flagged != (*list[0].Holm < 0.05) {
				t.Errorf("%d known, clusters of %d: flagged %v, Holm p %v: %s", k, size, flagged, *list[0].Holm, s.Notes[0])
			}
			if apart := strings.Contains(s.Notes[0], "not the interval"); k > 0 && apart != (flagged != (*list[0].Gain.Low > 0)) {
				t.Errorf("%d known, clusters of %d: %s", k, size, s.Notes[0])
			}
		}
	}
}
