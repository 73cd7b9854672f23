package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay/results"
	"assay/results/stats"
	"assay/results/text"
)

// headline is what table and figure are called in files.
const headline = "headline"

// answer is what a report begins with.
type answer struct {
	Table  results.Table   `json:"table"`
	Tall   results.Table   `json:"-"`      // the same with a row for each model and column
	Whole  []results.Table `json:"-"`      // tables of sections that stand beside it (Section.First)
	Figure *results.Figure `json:"figure"` // nil: nothing to draw
	Says   []string        `json:"says"`
	Groups []headlineGroup `json:"groups"` // of the table's columns behind the first
	Titles []string        `json:"-"`      // of the columns, where the groups are said already
	Short  []string        `json:"-"`      // Says in fewer words
	of     []results.Headline
}

// headlineGroup is columns of one study that stand together.
type headlineGroup struct {
	Title   string `json:"title"` // of the study's first section
	Columns int    `json:"columns"`
}

// column is one of the table, with its estimates by model.
type column struct {
	results.Headline
	results.Column
	study string
	row   string           // texts of the rows behind the models' names
	keys  []results.Column // of these texts
	texts []string
	cells map[string]*results.Estimate
	pairs map[[2]string]pair // by two models
	over  map[string]string  // machines that a model's times, energies or prices are pooled over
}

// MainResults is the answer of sections; nil: no study declares any, or has any of them.
func MainResults(sections []results.Section) *answer {
	var models []string
	var columns []column
	a := &answer{Table: results.Table{Name: headline, Title: "Which model, how sure, at what cost"}, Says: []string{}}
	for _, s := range sections {
		of := ofStudy(sections, s)
		for _, c := range of {
			for m := range c.cells {
				if !slices.Contains(models, m) {
					models = append(models, m)
				}
			}
		}
		if len(of) > 0 {
			a.Groups = append(a.Groups, headlineGroup{s.Title, len(of)})
			columns = append(columns, of...)
		}
	}
	if len(columns) == 0 {
		return nil
	}
	a.Table.Columns = []results.Column{{Name: "model", Title: "Model"}}
	a.Titles = []string{"Model"}
	for _, c := range columns {
		a.Titles = append(a.Titles, c.Column.Title)
		a.of = append(a.of, c.Headline)
		told := c.Column
		if len(a.Groups) > 1 {
			told.Title = c.study + ": " + told.Title
		}
		a.Table.Columns = append(a.Table.Columns, told)
	}
	rank(models, columns)
	a.Table.Notes = pooled(models, columns)
	for _, m := range models {
		row := []results.Cell{{Text: m}}
		for _, c := range columns {
			e := c.cells[m]
			if e == nil {
				e = &results.Estimate{Why: "the model was not asked this"}
			}
			row = append(row, results.Cell{Estimate: e})
		}
		a.Table.Rows = append(a.Table.Rows, row)
	}
	for j, c := range columns {
		if c.Main {
			if b, ok := bestOf(a.Table, j+1, c, columns); ok {
				a.Says, a.Short = append(a.Says, said("best", b)), append(a.Short, said("short", b))
			}
		}
	}
	for _, s := range sections {
		if s.First && len(s.Tables) > 0 {
			a.Whole, a.Says, a.Short = append(a.Whole, s.Tables[0]), append(a.Says, s.Notes...), append(a.Short, s.Notes...)
		}
	}
	a.Figure = figure(models, columns)
	a.Tall = findingsTall(models, columns)
	return a
}

// findingsTall is the table with a row for each model and column, and all that tells rows apart in
// columns of its own.
func findingsTall(models []string, columns []column) results.Table {
	t := results.Table{Name: headline, Columns: []results.Column{{Name: "model"}, {Name: "study"}, {Name: "table"}}}
	for _, c := range columns {
		for _, key := range c.keys {
			at := slices.IndexFunc(t.Columns, func(o results.Column) bool { return o.Name == key.Name })
			if at < 0 {
				at, t.Columns = len(t.Columns), append(t.Columns, results.Column{Name: key.Name})
			}
			if of := &t.Columns[at].Levels; key.Levels != nil {
				if *of == nil {
					*of = map[string]results.Level{}
				}
				maps.Copy(*of, key.Levels)
			}
		}
	}
	texts := len(t.Columns)
	for _, c := range columns {
		t.Columns = append(t.Columns, results.Column{Name: c.Headline.Column, Unit: c.Unit})
	}
	for _, m := range models {
		for j, c := range columns {
			e := c.cells[m]
			if e == nil {
				continue
			}
			row := make([]results.Cell, len(t.Columns))
			row[0].Text, row[1].Text, row[2].Text = m, c.study, c.Headline.Table
			for k, key := range c.keys {
				row[slices.IndexFunc(t.Columns[:texts], func(o results.Column) bool { return o.Name == key.Name })].Text = c.texts[k]
			}
			row[texts+j].Estimate = e
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// most is how many rows of a model become columns.
const most = 4

// ofStudy is the columns that a section declares and that some table has.
func ofStudy(sections []results.Section, s results.Section) []column {
	var out []column
	for _, h := range s.Headline {
		for _, other := range sections {
			if other.Study != s.Study {
				continue
			}
			for _, t := range other.Tables {
				if t.Name == h.Table {
					out = append(out, columnsOf(sections, t, h, s.Name)...)
				}
			}
		}
	}
	return out
}

// columnsOf is a column of a table by model: one for each of its rows, or of the one
// that h names.
func columnsOf(sections []results.Section, t results.Table, h results.Headline, study string) []column {
	at := slices.IndexFunc(t.Columns, func(c results.Column) bool { return c.Name == h.Column })
	if at < 0 {
		return nil
	}
	var rows []string
	over := map[string]string{}
	pooled := slices.IndexFunc(t.Columns, func(c results.Column) bool { return c.Name == results.PooledOver })
	by, behind := map[string]map[string]*results.Estimate{}, map[string][]string{}
	var keys []results.Column
	for j := 1; j < at && !t.Numeric(j); j++ {
		keys = append(keys, t.Columns[j])
	}
	for _, row := range t.Rows {
		var texts []string
		for j := range keys {
			texts = append(texts, row[1+j].Text)
		}
		name := strings.Join(texts, ", ")
		if row[at].Estimate == nil || h.Row != nil && !slices.Equal(h.Row, texts) {
			continue
		}
		if by[name] == nil {
			by[name] = map[string]*results.Estimate{}
			rows = append(rows, name)
			behind[name] = texts
		}
		by[name][row[0].Text] = row[at].Estimate
		if pooled >= 0 && row[pooled].Text != "" && ofMachine(h, t.Columns[at]) {
			over[row[0].Text] = row[pooled].Text
		}
	}
	var out []column
	for _, name := range rows[:min(most, len(rows))] {
		c := column{h, t.Columns[at], study, name, keys, behind[name], by[name], pairsOf(sections, study, h.Column, name), over}
		if !slices.ContainsFunc(t.Rows, func(row []results.Cell) bool {
			e := by[name][row[0].Text]
			return e != nil && e.Value != nil
		}) {
			continue // nobody has a value
		}
		c.Headline.Title = cmp.Or(h.Title, c.Column.Title)
		c.Column.Title = c.Headline.Title
		c.Column.Name = strings.ReplaceAll(h.Table, "-", "_") + "_" + h.Column
		if len(rows) > 1 {
			c.Column.Title += ", " + name
			c.Column.Name += "_" + machine(name)
		} else if len(h.Row) > 0 {
			c.Column.Name += "_" + machine(name)
		}
		out = append(out, c)
	}
	return out
}

// ofMachine says whether a column is of what depends on the machine: a price or a time.
func ofMachine(h results.Headline, c results.Column) bool {
	return h.Price != "" || c.Unit == "s" || c.Unit == "ms" || strings.HasSuffix(c.Unit, "/s")
}

// pooled says of which models a column's numbers are pooled over machines.
func pooled(models []string, columns []column) (notes []string) {
	for _, m := range models {
		var titles []string
		over := ""
		for _, c := range columns {
			if c.over[m] != "" && c.cells[m] != nil {
				titles, over = append(titles, c.Column.Title), c.over[m]
			}
		}
		if len(titles) > 0 {
			notes = append(notes, fmt.Sprintf("%s, of %s together: %s. The tables of hosts have each apart.", m, over, strings.Join(titles, ", ")))
		}
	}
	return notes
}

// machine is a text as a part of a column's name.
func machine(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '_'
	}, s)
}

// rank sorts models by the first Main column that has them, the best first, and leaves
// the order alone where it does not tell.
func rank(models []string, columns []column) {
	slices.SortStableFunc(models, func(x, y string) int {
		for _, c := range columns {
			if !c.Main {
				continue
			}
			a, b := c.cells[x], c.cells[y]
			okA, okB := a != nil && a.Value != nil, b != nil && b.Value != nil
			switch {
			case okA && okB && !stats.Same(*a.Value, *b.Value):
				d := cmp.Compare(*b.Value, *a.Value)
				if c.Better == results.Lower {
					d = -d
				}
				return d
			case okA != okB:
				return map[bool]int{true: -1, false: 1}[okA]
			}
		}
		return cmp.Compare(x, y)
	})
}

// best is what is said of the best model of a column.
type best struct {
	Study, Column, Model, Value, Unit, Cases string
	Sure                                     bool // there is an interval
	Low, High                                string
	Word                                     string   // highest or lowest
	All                                      int      // models that have a value
	Level, Near, Untested                    []string // of these: with the same one, not clearly apart and how far, not compared
	Close                                    []string // names of Near
	At                                       string   // what counts of what is swept
	Prices                                   []string
	Per                                      string // what these are for
}

// bestOf is the best model of a column, whether it is clearly so, and its price; false: none has a value.
func bestOf(t results.Table, j int, c column, all []column) (best, bool) {
	i := leading(t, j, rowsOf(t))
	if i < 0 {
		return best{}, false
	}
	model, e := t.Rows[i][0].Text, *t.Rows[i][j].Estimate
	b := best{Study: text.Visible(c.study), Column: lower(text.Visible(c.Column.Title)), Model: text.Visible(model), Unit: unit(c.Unit),
		Cases: cases(e), Sure: e.Low != nil, All: 1, At: text.Visible(c.At),
		Word: map[results.Better]string{results.Higher: "highest", results.Lower: "lowest"}[c.Better]}
	b.Value, b.Low, b.High = results.EstimateWords(c.Unit, e, false)
	for k, row := range t.Rows {
		o, name := row[j].Estimate, row[0].Text
		if k == i || o == nil || o.Value == nil {
			continue
		}
		b.All++
		p, tested := c.pairs[[2]string{model, name}]
		switch name = text.Visible(name); {
		case stats.Same(*e.Value, *o.Value):
			b.Level = append(b.Level, name)
		case !tested:
			b.Untested = append(b.Untested, name)
		case !leads(c.Better, p):
			b.Near, b.Close = append(b.Near, name+" "+findingsGap(p)), append(b.Close, name)
		}
	}
	b.Prices, b.Per = prices(model, c, all)
	return b, true
}

// prices are what a model takes for a column: of the same row, where there are any of it.
func prices(model string, c column, all []column) (list []string, per string) {
	of := func(p column) bool { return p.Price == c.Headline.Title && p.study == c.study }
	own := slices.ContainsFunc(all, func(p column) bool { return of(p) && p.row == c.row })
	for _, p := range all {
		if e := p.cells[model]; of(p) && (p.row == c.row || !own) && e != nil && e.Value != nil {
			col := results.Digits{}.Of(p.Column, []*results.Estimate{e})
			v, _ := col.Print(*e)
			unit, each, _ := strings.Cut(text.Visible(col.Unit), " per ")
			list, per = append(list, v+" "+unit), each
		}
	}
	return list, per
}

// leads says whether the first of two is clearly the better one.
func leads(better results.Better, p pair) bool {
	d := *p.difference.Value
	return p.clear() && !stats.Same(d, 0) && (d > 0) == (better == results.Higher)
}

// findingsGap is a difference in words, with its test; where test and interval do not agree it says so.
func findingsGap(p pair) string {
	v, low, high := results.EstimateWords("points", p.difference, true)
	out := p.difference.Low != nil && (*p.difference.Low > 0 || *p.difference.High < 0)
	return said("gap", struct {
		Value, Low, High, P string
		Apart               bool
	}{v, low, high, stats.Significant(p.holm, 2), out && !p.clear()})
}

// cases are how many cases an estimate is of, and of how many clusters where these are fewer.
func cases(e results.Estimate) string {
	if e.Clusters > 0 && e.Clusters < e.N {
		return fmt.Sprintf("n = %d in %d clusters", e.N, e.Clusters)
	}
	return fmt.Sprintf("n = %d", e.N)
}

// lower begins a word of two letters or more with a small one.
func lower(s string) string {
	if len(s) > 1 && s[0] >= 'A' && s[0] <= 'Z' && s[1] >= 'a' && s[1] <= 'z' {
		return string(s[0]-'A'+'a') + s[1:]
	}
	return s
}

func unit(u string) string {
	if u == "" {
		return ""
	}
	return " " + text.Visible(u)
}

// few names at most three.
func few(s []string) string {
	const most = 3
	if len(s) > most+1 {
		s = append(s[:most:most], fmt.Sprintf("%d more", len(s)-most))
	}
	return listed(s)
}

func listed(s []string) string {
	if len(s) == 1 {
		return s[0]
	}
	return strings.Join(s[:len(s)-1], ", ") + " and " + s[len(s)-1]
}

// figure draws the columns that are to be drawn, a row for each model; nil: none.
func figure(models []string, columns []column) *results.Figure {
	zero, hundred := 0., 100.
	f := &results.Figure{Name: headline, Kind: results.FigureDots, Title: "The main percentages by model", X: results.Axis{Unit: "%", Low: &zero, High: &hundred}}
	var words []string
	for _, c := range columns {
		if !c.Drawn || c.Unit != "%" {
			continue
		}
		s := results.Series{Name: c.study + ": " + c.Column.Title}
		var parts []string
		for _, m := range models {
			e := c.cells[m]
			if e == nil || e.Value == nil {
				continue
			}
			s.Points = append(s.Points, results.Point{Label: m, X: e})
			v, low, high := results.EstimateWords(c.Unit, *e, false)
			if low != "" {
				v += " (" + low + " to " + high + ")"
			}
			parts = append(parts, m+" "+v)
		}
		f.Series = append(f.Series, s)
		words = append(words, s.Name+": "+strings.Join(parts, ", "))
	}
	if len(f.Series) == 0 {
		return nil
	}
	f.Alt = "Dots of percentages by model. " + strings.Join(words, "; ") + "."
	return f
}

// below are the sections without what stands with the answer already.
func below(sections []results.Section) []results.Section {
	out := slices.Clone(sections)
	for i, s := range out {
		if s.First && len(s.Tables) > 0 {
			out[i].Tables, out[i].Notes = s.Tables[1:], nil
			out[i].Intro += " The table " + s.Tables[0].Title + " stands at the beginning."
		}
	}
	return out
}
