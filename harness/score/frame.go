package score

import (
	"bytes"
	"cmp"
	"encoding/gob"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"time"

	"assay/results"
	"assay/timing"
)

// format of stored scores; another one makes them anew.
const format = 5

// frame is trials of one model that follow each other in Key order, as columns: the fields
// of their rows, and a score of each place of the layout. It can be read without others.
type frame struct {
	Trials  int
	Words   []string // texts, and why there is no score
	Columns []frameColumn
}

// frameColumn is one field or score of all trials of a frame. Columns that no trial has at
// the end are not there.
type frameColumn struct {
	Kinds  []byte    // of each trial
	Values []float64 // of each that is not absent: the number, or the place of its word
}

// framing makes a frame of trials whose items come in any order.
type framing struct {
	frame
	words map[string]int
	items []framedItem // as they came
	room  []slot
}

// framedItem is where the trials of an item lie.
type framedItem struct{ place, from, to int }

// begin begins the trials of an item; place is where it stands among all.
func (f *framing) begin(place int) {
	f.items = append(f.items, framedItem{place, f.Trials, f.Trials})
}

// add adds a trial of the item that was begun, whose study and model are known.
func (f *framing) add(t Scored) {
	fields := rowFields{slots: f.room[:0]}
	fields.row(&t.Row)
	f.room = append(fields.slots, t.values...)
	for i, s := range f.room {
		if s.kind == absent {
			continue
		}
		for len(f.Columns) <= i {
			f.Columns = append(f.Columns, frameColumn{})
		}
		c, v := &f.Columns[i], s.number
		if s.kind != number {
			v = float64(f.word(s.text))
		}
		c.Kinds = append(append(c.Kinds, make([]byte, f.Trials-len(c.Kinds))...), byte(s.kind))
		c.Values = append(c.Values, v)
	}
	f.Trials++
	f.items[len(f.items)-1].to = f.Trials
}

func (f *framing) word(s string) int {
	at, ok := f.words[s]
	if !ok {
		if f.words == nil {
			f.words = map[string]int{}
		}
		at = len(f.Words)
		f.words[s], f.Words = at, append(f.Words, s)
	}
	return at
}

// bytes is the frame with its items in order.
func (f *framing) bytes() ([]byte, error) {
	slices.SortFunc(f.items, func(a, b framedItem) int { return cmp.Compare(a.place, b.place) })
	out := frame{f.Trials, f.Words, make([]frameColumn, len(f.Columns))}
	for i, c := range f.Columns {
		var before []int // values before each trial
		n := 0
		for _, k := range c.Kinds {
			before = append(before, n)
			if kind(k) != absent {
				n++
			}
		}
		to := frameColumn{Values: make([]float64, 0, n)}
		for _, it := range f.items {
			for t := it.from; t < it.to; t++ {
				k := absent
				if t < len(c.Kinds) {
					k = kind(c.Kinds[t])
				}
				if to.Kinds = append(to.Kinds, byte(k)); k != absent {
					to.Values = append(to.Values, c.Values[before[t]])
				}
			}
		}
		out.Columns[i] = to
	}
	var b bytes.Buffer
	err := gob.NewEncoder(&b).Encode(out)
	return b.Bytes(), err
}

var errFrame = errors.New("its scores cannot be read")

// frameReader reads a study's frames one after the other.
type frameReader struct {
	frame
	names  results.Names // texts of all frames
	places int           // of the layout
	trial  int           // the next
	values []int         // how many of each column were read
	slots  []slot        // of a trial
	fields rowFields
}

// begin begins a frame.
func (r *frameReader) begin(b []byte) error {
	r.frame, r.trial = frame{}, 0
	if err := gob.NewDecoder(bytes.NewReader(b)).Decode(&r.frame); err != nil {
		return errors.Join(errFrame, err)
	}
	if r.slots == nil {
		r.fields.row(new(results.Row))
		r.slots = make([]slot, len(r.fields.slots)+r.places)
		r.fields.lists = map[fieldText]any{}
	}
	if r.Trials != 0 && len(r.Columns) == 0 || len(r.Columns) > len(r.slots) {
		return errFrame
	}
	for i, w := range r.Words {
		r.Words[i] = r.names.Of(w)
	}
	for i, c := range r.Columns {
		given, score := 0, i >= len(r.slots)-r.places
		for _, k := range c.Kinds {
			if kind(k) == absent {
				continue
			}
			if kind(k) > undefined || given == len(c.Values) || !r.holds(kind(k), c.Values[given], score) {
				return errFrame
			}
			given++
		}
		if len(c.Kinds) != r.Trials || given != len(c.Values) {
			return errFrame
		}
	}
	r.values = append(r.values[:0], make([]int, len(r.Columns))...)
	return nil
}

// holds says whether a value may be one of its kind, in a row or as a score.
func (f *frame) holds(k kind, v float64, score bool) bool {
	if k == number {
		return !score || !math.IsNaN(v) && !math.IsInf(v, 0)
	}
	return v >= 0 && v < float64(len(f.Words)) && v == math.Trunc(v)
}

// next reads the next trial of the frame, whose study and model s has; false: there is
// none. The slots of s are used again.
func (r *frameReader) next(s *Scored) (bool, error) {
	if r.trial == r.Trials {
		return false, nil
	}
	clear(r.slots)
	for i, c := range r.Columns {
		k := kind(c.Kinds[r.trial])
		if k == absent {
			continue
		}
		v := c.Values[r.values[i]]
		if r.values[i]++; k == number {
			r.slots[i] = slot{kind: k, number: v}
		} else {
			r.slots[i] = slot{kind: k, text: r.Words[int(v)]}
		}
	}
	r.trial++
	s.Row = results.Row{Key: results.Key{Study: s.Row.Key.Study, Model: s.Row.Key.Model}}
	r.fields.slots, r.fields.at, r.fields.reading, r.fields.bad = r.slots, 0, true, false
	r.fields.row(&s.Row)
	s.values = append(s.values[:0], r.slots[r.fields.at:]...)
	if r.fields.bad {
		return false, errFrame
	}
	return true, nil
}

// rowFields puts the fields of a row into slots, or reads them from there: one description
// of a row serves both ways.
type rowFields struct {
	slots   []slot
	at      int // of slots, of who reads
	reading bool
	bad     bool              // what was read is no row
	lists   map[fieldText]any // that were read: few are said of many trials
}

// fieldText is a text by the place of its field.
type fieldText struct {
	at   int
	text string
}

// row is all of a row but study and model. Times of up to 104 days are kept to the nanosecond.
func (f *rowFields) row(r *results.Row) {
	text(f, &r.Key.Item)
	text(f, &r.Key.Arm)
	text(f, &r.Key.Condition)
	whole(f, &r.Key.Repeat)
	f.truth(&r.Failed)
	text(f, &r.Kind)
	for _, d := range []**time.Duration{&r.TTFT, &r.Latency, &r.Decode, &r.ServerTotal} {
		maybe(f, d)
	}
	for _, n := range []**int{&r.PromptTokens, &r.CompletionTokens, &r.FirstTokens, &r.CachedTokens} {
		maybe(f, n)
	}
	f.maybeTruth(&r.TTFTAtMost)
	f.maybeTruth(&r.LatencyAtMost)
	list(f, &r.Flags)
	whole(f, &r.Attempts)
	text(f, &r.CachePolicy)
	text(f, &r.CacheState)
	text(f, &r.CacheNote)
	list(f, &r.Invalid)
	for _, d := range r.Paces.Spans() {
		maybe(f, d)
	}
	f.use(&r.GPU)
	f.use(&r.CPU)
}

func (f *rowFields) use(to **results.Use) {
	there := *to != nil
	f.truth(&there)
	u := new(results.Use)
	if *to != nil {
		u = *to
	} else if f.reading && there {
		*to = u
	}
	maybe(f, &u.Held)
	maybe(f, &u.Devices)
	whole(f, &u.From)
	whole(f, &u.To)
	whole(f, &u.Gross)
	whole(f, &u.Uncertainty)
	for _, e := range []**timing.Millijoules{&u.Net, &u.NetUncertainty, &u.Absolute, &u.NetAbsolute} {
		maybe(f, e)
	}
	text(f, &u.Method)
	text(f, &u.Sensor)
	whole(f, &u.Ticks)
	whole(f, &u.Tick)
	f.truth(&u.LowConfidence)
	list(f, &u.Flags)
	maybe(f, &u.Ratio)
	text(f, &u.Unknown)
}

// slot puts a slot, or is the one that is read.
func (f *rowFields) slot(s slot, want kind) slot {
	if !f.reading {
		f.slots = append(f.slots, s)
		return s
	}
	s = f.slots[f.at]
	f.at++
	f.bad = f.bad || s.kind != absent && s.kind != want
	return s
}

func text[T ~string](f *rowFields, v *T) {
	s := slot{}
	if *v != "" {
		s = slot{kind: label, text: string(*v)}
	}
	*v = T(f.slot(s, label).text)
}

func whole[T ~int | ~int64 | ~float64](f *rowFields, v *T) {
	s := slot{}
	if *v != 0 {
		s = slot{kind: number, number: float64(*v)}
	}
	*v = T(f.slot(s, number).number)
}

func (f *rowFields) truth(v *bool) {
	n := 0
	if *v {
		n = 1
	}
	whole(f, &n)
	*v = n == 1
}

// maybe is a value that may be missing.
func maybe[T ~int | ~int64 | ~float64](f *rowFields, v **T) {
	s := slot{}
	if *v != nil {
		s = slot{kind: number, number: float64(**v)}
	}
	if s = f.slot(s, number); f.reading && s.kind == number {
		*v = new(T(s.number))
	}
}

func (f *rowFields) maybeTruth(v **bool) {
	var n *int
	if *v != nil {
		n = new(int)
		if **v {
			*n = 1
		}
	}
	if maybe(f, &n); f.reading && n != nil {
		*v = new(*n == 1)
	}
}

// list is a list, as JSON; none is nil.
func list[T any](f *rowFields, v *[]T) {
	s := slot{}
	if len(*v) > 0 {
		b, err := json.Marshal(*v)
		if err != nil {
			panic("score: internal error: " + err.Error())
		}
		s = slot{kind: label, text: string(b)}
	}
	if s = f.slot(s, label); !f.reading || s.kind != label {
		return
	}
	key := fieldText{f.at, s.text}
	all, ok := f.lists[key].([]T)
	if !ok {
		f.bad = f.bad || json.Unmarshal([]byte(s.text), &all) != nil
		f.lists[key] = all
	}
	*v = all
}

// about is what a set says of how its scores are read.
type about struct {
	Scores [][2]string // name and judge of each place
}

func (l *Layout) about() json.RawMessage {
	var a about
	for _, c := range l.columns {
		a.Scores = append(a.Scores, [2]string{c.name, c.judge})
	}
	b, err := json.Marshal(a)
	if err != nil {
		panic("score: internal error: " + err.Error())
	}
	return b
}
