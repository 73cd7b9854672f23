package viewer

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"assay/results"
)

// trial is what a test puts into an index.
type trial struct {
	key   results.Key
	cells []Cell // of the columns after the key
	text  string
}

func (t trial) all() []Cell {
	out := []Cell{{Kind: Text, Text: t.key.Model}, {Kind: Text, Text: t.key.Item}, {Kind: Text, Text: t.key.Arm}, {Kind: Text, Text: t.key.Condition}, {Kind: Number, Number: float64(t.key.Repeat)}}
	return append(out, t.cells...)
}

func testColumns() []results.FileColumn {
	return append(KeyColumns(), results.FileColumn{Name: "score", Kind: results.NumberColumn}, results.FileColumn{Name: "label", Kind: results.TextColumn})
}

func testLists() []string { return []string{KeyModel, "score", "none"} }

// built is the table of some trials, by way of a file.
func built(t fataler, path string, trials []trial) *Table {
	t.Helper()
	b, err := NewBuilder(path, "s", "of", testColumns(), testLists())
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range trials {
		if err := b.Add(x.all(), x.text); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Finish(); err != nil {
		t.Fatal(err)
	}
	table, err := OpenIndex(path, "of")
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func drawTrials(t *rapid.T) []trial {
	word := rapid.SampledFrom([]string{"heart", "lung", "Größe", "x", "nodule"})
	n := rapid.IntRange(0, 40).Draw(t, "trials")
	seen := map[results.Key]bool{}
	var out []trial
	for range n {
		k := results.Key{Study: "s", Model: rapid.SampledFrom([]string{"a", "b", "ab"}).Draw(t, "model"), Item: rapid.SampledFrom([]string{"i1", "i2", "i10", "é"}).Draw(t, "item"),
			Arm: rapid.SampledFrom([]string{"cot", "direct"}).Draw(t, "arm"), Condition: "baseline", Repeat: rapid.IntRange(0, 2).Draw(t, "repeat")}
		if seen[k] {
			continue
		}
		seen[k] = true
		score := Cell{Kind: rapid.SampledFrom([]kind{absent, Number, Number, Number, Lacking}).Draw(t, "kind")}
		switch score.Kind {
		case Number:
			score.Number = float64(rapid.IntRange(-3, 3).Draw(t, "number")) / 2
		case Lacking:
			score.Text = rapid.SampledFrom([]string{"why", "because"}).Draw(t, "why")
		}
		label := Cell{Kind: rapid.SampledFrom([]kind{absent, Text}).Draw(t, "label kind")}
		if label.Kind == Text {
			label.Text = rapid.SampledFrom([]string{"MFC", "fc", "1"}).Draw(t, "label")
		}
		out = append(out, trial{k, []Cell{score, label}, strings.Join(rapid.SliceOfN(word, 0, 4).Draw(t, "text"), ", ")})
	}
	slices.SortFunc(out, func(a, b trial) int { return a.key.Compare(b.key) })
	return out
}

// plainly says what a filter means, without any index.
func plainly(w Filter, c Cell) bool {
	value := c.Kind == Number || c.Kind == Text
	shown := c.Text
	if c.Kind == Number {
		shown = strconv.FormatFloat(c.Number, 'g', -1, 64)
	}
	switch w.Op {
	case Is:
		return value && slices.Contains(w.Values, shown)
	case not:
		return value && !slices.Contains(w.Values, shown)
	case least, most:
		v, _ := strconv.ParseFloat(w.Values[0], 64)
		return c.Kind == Number && (w.Op == least && c.Number >= v || w.Op == most && c.Number <= v)
	case holds:
		return c.Kind == Text && strings.Contains(strings.ToLower(c.Text), strings.ToLower(w.Values[0]))
	case isMissing:
		return !value
	}
	return value
}

// order is how trials stand by a column: values, then those without one.
func order(a, b Cell, down bool) int {
	rank := func(c Cell) int { // numbers, texts, reasons, nothing
		return map[kind]int{Number: 0, Text: 1, Lacking: 2, absent: 3}[c.Kind]
	}
	d := cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Number, b.Number), strings.Compare(a.Text, b.Text))
	if down && rank(a) < 2 && rank(b) < 2 {
		return -d
	}
	return d
}

type fataler interface {
	Fatal(...any)
	Helper()
}

func pageOf(t fataler, s *selection, n, count int) []Trial {
	t.Helper()
	out, err := s.Page(n, count)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func length(t fataler, s *selection) int {
	t.Helper()
	n, err := s.Len()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestSelectIsWhatItSays: any filters, words, order and page give the trials that
// looking at each of them gives.
func TestSelectIsWhatItSays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "index")
	rapid.Check(t, func(t *rapid.T) {
		trials := drawTrials(t)
		table := built(t, path, trials)
		defer table.Close()
		q := query{Down: rapid.Bool().Draw(t, "down"), Sort: rapid.SampledFrom([]string{"", "score", "score", "score", "label", KeyItem, KeyRepeat}).Draw(t, "sort"),
			Words: rapid.SampledFrom([]string{"", "", "", "", "", "heart", "HEART lung", "gröSSe", "größe", "hea", "nodule zebra"}).Draw(t, "words")}
		names := []string{KeyModel, KeyItem, KeyArm, KeyCondition, KeyRepeat, "score", "label"}
		for range rapid.SampledFrom([]int{0, 1, 1, 2}).Draw(t, "filters") {
			w := Filter{Column: rapid.SampledFrom(append(names, "score", "score", "score", "score")).Draw(t, "column"), Op: rapid.SampledFrom(append(ops(), least, most)).Draw(t, "op")}
			w.Values = []string{rapid.SampledFrom([]string{"0.5", "1", "-1", "a", "i1", "MFC", "cot"}).Draw(t, "value")}
			if w.Op == least || w.Op == most {
				w.Values = []string{rapid.SampledFrom([]string{"0.5", "1", "-1", "7"}).Draw(t, "bound")}
			}
			q.Where = append(q.Where, w)
		}
		sel, err := table.selects(q)
		if err != nil {
			t.Fatal(err)
		}
		var want []trial
		for _, x := range trials {
			ok := true
			for _, w := range q.Where {
				ok = ok && plainly(w, x.all()[slices.Index(names, w.Column)])
			}
			said := strings.FieldsFunc(strings.ToLower(x.text), func(r rune) bool { return r == ',' || r == ' ' })
			for i, w := range strings.Fields(strings.ToLower(q.Words)) {
				ok = ok && slices.ContainsFunc(said, func(s string) bool { return s == w || q.Words == "hea" && i == 0 && strings.HasPrefix(s, w) })
			}
			if ok {
				want = append(want, x)
			}
		}
		if at := slices.Index(names, q.Sort); at >= 0 {
			slices.SortStableFunc(want, func(a, b trial) int { return order(a.all()[at], b.all()[at], q.Down) })
		}
		counts, all, err := sel.Counts()
		if n := length(t, sel); err != nil || n != len(want) || all != len(want) {
			t.Fatalf("%+v: %d trials, %d counted (%v), want %d", q, n, all, err, len(want))
		}
		total, numbers := 0., 0
		for _, x := range want {
			if c := x.cells[0]; c.Kind == Number {
				total, numbers = total+c.Number, numbers+1
			}
		}
		if sums, err := sel.Sums("score"); err != nil || sums[0] != (sum{total, numbers}) {
			t.Fatalf("%+v: scores make %v (%v), want %d, %v", q, sums, err, numbers, total)
		}
		times := map[Cell]int{}
		for _, x := range want {
			times[x.cells[0]]++
		}
		for i, c := range counts["score"] {
			if c.N != times[c.Cell] || i > 0 && order(counts["score"][i-1].Cell, c.Cell, false) >= 0 {
				t.Fatalf("%+v: score %+v is there %d times, want %d, in order: %+v", q, c.Cell, c.N, times[c.Cell], counts)
			}
			delete(times, c.Cell)
		}
		if len(times) > 0 {
			t.Fatalf("%+v: scores %v are not counted", q, times)
		}
		n, count := rapid.IntRange(0, 12).Draw(t, "from"), rapid.IntRange(0, 12).Draw(t, "count")
		rows := pageOf(t, sel, n, count)
		n = min(n, len(want))
		want = want[n:min(len(want), n+count)]
		if len(rows) != len(want) {
			t.Fatalf("%+v: a page of %d, want %d", q, len(rows), len(want))
		}
		for i, x := range rows {
			if x.Key != want[i].key || x.Cell("score") != want[i].cells[0] || x.Cell("label") != want[i].cells[1] {
				t.Fatalf("%+v: place %d is %+v, want %+v", q, n+i, x.Key, want[i])
			}
			if y, ok, err := table.Find(want[i].key); !ok || err != nil || y.Row != x.Row {
				t.Fatalf("%+v is at %d, found at %d (%v, %v)", want[i].key, x.Row, y.Row, ok, err)
			}
			if at, ok, err := sel.Place(x.Row); !ok || err != nil || at != n+i {
				t.Fatalf("%+v: row %d stands at %d, found at %d (%v, %v)", q, x.Row, n+i, at, ok, err)
			}
		}
	})
}

// TestManyNumbers: columns hold numbers to the last bit, beside their reasons; comparisons read
// the same.
func TestManyNumbers(t *testing.T) {
	for _, n := range []int{200, 3000} {
		var trials []trial
		for i := range n {
			c := Cell{Kind: Number, Number: float64((i*7919)%n) / 3}
			if i%5 == 0 {
				c = Cell{Kind: Lacking, Text: fmt.Sprint("why ", i%3)}
			}
			trials = append(trials, trial{results.Key{Study: "s", Model: "m", Item: fmt.Sprintf("i%06d", i), Arm: "a", Condition: "c"}, []Cell{c, {}}, "word"})
		}
		table := built(t, filepath.Join(t.TempDir(), "index"), trials)
		r, err := table.Reader([]string{KeyRepeat, "score"})
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range trials {
			if got, err := table.Trial(i); err != nil || got.Cell("score") != x.cells[0] {
				t.Fatalf("%d trials: the score of trial %d is %+v (%v), want %+v", n, i, got.Cell("score"), err, x.cells[0])
			}
			repeat, _ := r.Number(i, 0)
			got, known := r.Number(i, 1)
			if r.Key(i) != x.key || repeat != float64(x.key.Repeat) || known != (x.cells[0].Kind == Number) || known && got != x.cells[0].Number || r.Err() != nil {
				t.Fatalf("%d trials: the score of trial %d is read as %v (%v, %v), want %+v", n, i, got, known, r.Err(), x.cells[0])
			}
		}
		sel, err := table.selects(query{Sort: "score", Down: true, Where: []Filter{{Column: "score", Op: Known}}})
		if err != nil {
			t.Fatal(err)
		}
		last := pageOf(t, sel, 0, 1)
		most := 0.0
		for _, x := range trials {
			most = max(most, x.cells[0].Number)
		}
		if c := last[0].Cell("score"); c.Number != most || length(t, sel) != n-(n+4)/5 {
			t.Errorf("%d trials: %d scores, the largest %+v, want %v", n, length(t, sel), c, most)
		}
		if sums, err := sel.Sums("score"); err != nil || sums[0].N != length(t, sel) || sums[0].Sum <= 0 {
			t.Errorf("the sum of scores is %v (%v)", sums, err)
		}
		table.Close()
	}
}

// TestWords: a word is found in all trials that have it, and so is a beginning.
func TestWords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "index")
	b, err := NewBuilder(path, "s", "of", testColumns(), testLists())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 30 {
		x := trial{results.Key{Study: "s", Model: "m", Item: fmt.Sprintf("i%02d", i), Arm: "a", Condition: "c"}, []Cell{{}, {}}, fmt.Sprintf("all each%d every%d", i, i%3)}
		if err := b.Add(x.all(), x.text); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Finish(); err != nil {
		t.Fatal(err)
	}
	table, err := OpenIndex(path, "of")
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	for words, want := range map[string]int{"all": 30, "every1": 10, "all every1": 10, "each29": 1, "each7 every1": 1, "each8 every1": 0, "ever": 30, "none": 0, "": 30, " ,": 30} {
		sel, err := table.selects(query{Words: words})
		if err != nil || length(t, sel) != want {
			t.Errorf("%q: %d trials (%v), want %d", words, length(t, sel), err, want)
		}
	}
}

// TestADamagedIndexIsRefused: whichever byte of the file is another one, Open says so;
// so it does of an index of something else.
func TestADamagedIndexIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "index")
	built(t, path, []trial{{results.Key{Study: "s", Model: "m", Item: "i", Arm: "a", Condition: "c"}, []Cell{{Kind: Number, Number: 0.25}, {Kind: Text, Text: "x"}}, "some words"}}).Close()
	if _, err := OpenIndex(path, "other"); !errors.Is(err, errOther) {
		t.Errorf("of another store: %v", err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for i := range good {
		if _, err := f.WriteAt([]byte{good[i] ^ 0x10}, int64(i)); err != nil {
			t.Fatal(err)
		}
		if table, err := OpenIndex(path, "of"); err == nil {
			table.Close()
			t.Fatalf("byte %d of %d is wrong, and the index was read", i, len(good))
		}
		if _, err := f.WriteAt(good[i:i+1], int64(i)); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range []int{0, 5, 30, len(good) - 1} {
		if err := os.WriteFile(path, good[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenIndex(path, "of"); err == nil {
			t.Errorf("an index cut to %d bytes was read", n)
		}
	}
}

func TestWhatCannotBeAskedIsSaid(t *testing.T) {
	table := built(t, filepath.Join(t.TempDir(), "index"), nil)
	defer table.Close()
	for want, q := range map[string]query{
		`there is no column "x" to sort by`:                                             {Sort: "x"},
		`there is no column "y"`:                                                        {Where: []Filter{{Column: "y", Op: Is}}},
		`score: expected a number, found "much"`:                                        {Where: []Filter{{Column: "score", Op: least, Values: []string{"much"}}}},
		`score: expected one number, found 0 values`:                                    {Where: []Filter{{Column: "score", Op: most}}},
		`score: expected one of [is not least most holds missing known], found "about"`: {Where: []Filter{{Column: "score", Op: "about"}}},
	} {
		if _, err := table.selects(q); err == nil || err.Error() != want {
			t.Errorf("%+v: %v, want %s", q, err, want)
		}
	}
}

// TestAtTheEdges: bounds belong to what they bound, the least value stands before what
// has none also when the largest is first, and the last word alone may be a beginning.
func TestAtTheEdges(t *testing.T) {
	lacks := Cell{Kind: Lacking, Text: "why"}
	var trials []trial
	for i, c := range []Cell{lacks, {Kind: Number, Number: -1}, {Kind: Number, Number: 0.5}, {}, {Kind: Number, Number: 1}} {
		trials = append(trials, trial{results.Key{Study: "s", Model: "m", Item: fmt.Sprint("i", i), Arm: "a", Condition: "c"}, []Cell{c, {}}, []string{"heart size", "heart", "hearts sizes", "", "size heart"}[i]})
	}
	table := built(t, filepath.Join(t.TempDir(), "index"), trials)
	defer table.Close()
	for want, q := range map[string]query{
		"[4 2 1 0 3]": {Sort: "score", Down: true},
		"[1 2 4 0 3]": {Sort: "score"},
		"[2 4]":       {Where: []Filter{{Column: "score", Op: least, Values: []string{"0.5"}}}},
		"[1 2]":       {Where: []Filter{{Column: "score", Op: most, Values: []string{"0.5"}}}},
		"[1 4]":       {Where: []Filter{{Column: "score", Op: not, Values: []string{"0.5"}}}},
		"[0 3]":       {Where: []Filter{{Column: "score", Op: isMissing}}},
		"[0 1 4]":     {Words: "heart"},
		"[0 4]":       {Words: "heart siz"},
		"[]":          {Words: "hea size"},
		"[0 1 2 4]":   {Words: "hea"},
	} {
		s, err := table.selects(q)
		if err != nil {
			t.Fatal(err)
		}
		var rows []int
		for _, x := range pageOf(t, s, 0, 9) {
			rows = append(rows, x.Row)
		}
		if got := fmt.Sprint(rows); got != want {
			t.Errorf("%+v: %s, want %s", q, got, want)
		}
	}
}

// TestTwoMakeTheSameFile: two programs that show one store may make its index at once; each
// wrote into the other's file, and found it damaged. What a killed one left goes some day.
func TestTwoMakeTheSameFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "i [1].index")
	left := path + partMiddle + "123"
	if err := os.WriteFile(left, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(left, time.Now(), time.Now().Add(-2*forgotten)); err != nil {
		t.Fatal(err)
	}
	var both [2]*Builder
	for i := range both {
		var err error
		if both[i], err = NewBuilder(path, "s", "of", testColumns(), testLists()); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 50 {
		one := trial{results.Key{Study: "s", Model: "m", Item: fmt.Sprintf("i%02d", n), Arm: "a", Condition: "baseline"}, []Cell{{Kind: Number, Number: float64(n)}, {}}, "lung"}
		for _, b := range both {
			if err := b.Add(one.all(), one.text); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, b := range both {
		if err := b.Finish(); err != nil {
			t.Fatal(err)
		}
		table, err := OpenIndex(path, "of")
		if err != nil {
			t.Fatal(err)
		}
		if table.Rows != 50 {
			t.Errorf("%d rows", table.Rows)
		}
		table.Close()
	}
	b, err := NewBuilder(path, "s", "of", testColumns(), testLists())
	if err != nil {
		t.Fatal(err)
	}
	b.Discard()
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("%v, %v", files, err)
	}
}

// TestABeginningFindsAllItsWords: the trials of all words that begin so; they were those of the
// first 64 words.
func TestABeginningFindsAllItsWords(t *testing.T) {
	var trials []trial
	for n := range 300 {
		trials = append(trials, trial{results.Key{Study: "s", Model: "m", Item: fmt.Sprintf("i%03d", n), Arm: "a", Condition: "baseline"}, []Cell{{}, {}}, fmt.Sprintf("lung%03d", n)})
	}
	table := built(t, filepath.Join(t.TempDir(), "i"), trials)
	defer table.Close()
	s, err := table.selects(query{Words: "lun"})
	if err != nil || length(t, s) != 300 {
		t.Errorf("%d trials have a word that begins so, want 300: %v", length(t, s), err)
	}
}

// TestReasonsAreInOrder: whichever reason comes first, trials without a value stand in the order of
// why they have none, and then in Key order; a new viewer's table says the same reasons.
func TestReasonsAreInOrder(t *testing.T) {
	const n = 2000
	var trials []trial
	for i := range n {
		why := (i * 7919) % 997
		switch {
		case i < 300: // each after all others
			why = 1000 + i
		case i < 600: // each before all others
			why = 1000 - i
		}
		trials = append(trials, trial{results.Key{Study: "s", Model: "m", Item: fmt.Sprintf("i%06d", i), Arm: "a", Condition: "c"}, []Cell{{Kind: Lacking, Text: fmt.Sprintf("why %04d", why)}, {}}, ""})
	}
	table := built(t, filepath.Join(t.TempDir(), "index"), trials)
	defer table.Close()
	for _, down := range []bool{false, true} {
		s, err := table.selects(query{Sort: "score", Down: down})
		if err != nil {
			t.Fatal(err)
		}
		all := pageOf(t, s, 0, n)
		for i := 1; i < n; i++ {
			if d := order(all[i-1].Cell("score"), all[i].Cell("score"), down); d > 0 || d == 0 && all[i-1].Row >= all[i].Row {
				t.Fatalf("%+v (%d) comes before %+v (%d)", all[i-1].Cell("score"), all[i-1].Row, all[i].Cell("score"), all[i].Row)
			}
		}
	}
}

// TestATableStays: a table reads its own trials after another file, or none, came to its path.
func TestATableStays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "index")
	one := func(item string) []trial {
		return []trial{{results.Key{Study: "s", Model: "m", Item: item, Arm: "a", Condition: "c"}, []Cell{{}, {}}, "heart"}}
	}
	table := built(t, path, one("old"))
	defer table.Close()
	built(t, path, append(one("new"), one("other")...)).Close()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	var tasks sync.WaitGroup
	for range 4 * readers {
		tasks.Go(func() {
			for range 20 {
				s, err := table.selects(query{Words: "heart"})
				if err != nil {
					t.Error(err)
					return
				}
				if all, err := s.Page(0, 9); err != nil || len(all) != 1 || all[0].Key.Item != "old" {
					t.Errorf("%+v, %v", all, err)
				}
			}
		})
	}
	tasks.Wait()
}
