package score

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"time"

	"assay/results"
	"assay/timing"
)

// A bundle is the number of its words, the words, and trials whose texts are places
// among them: a bundle can be read without the others.
//
// bundle collects trials of one model, whose items come in any order.
type bundle struct {
	words  wordList
	trials []byte
	items  []packed // as they came
	n      int
}

// packed is where the trials of an item lie.
type packed struct{ place, from, to int }

// begin begins the trials of an item; place is where it stands among all.
func (c *bundle) begin(place int) {
	c.items = append(c.items, packed{place, len(c.trials), len(c.trials)})
}

// add packs a trial of the item that was begun, whose study and model are known.
func (c *bundle) add(s Scored) {
	w := coder{bytes: c.trials, words: &c.words}
	w.row(&s.Row)
	values := pack(s.values, &c.words)
	c.trials = append(binary.AppendUvarint(w.bytes, uint64(len(values))), values...)
	c.items[len(c.items)-1].to = len(c.trials)
	c.n++
}

func (c *bundle) bytes() []byte {
	out := binary.AppendUvarint(make([]byte, 0, len(c.trials)+16*len(c.words.list)), uint64(len(c.words.list)))
	for _, s := range c.words.list {
		out = append(binary.AppendUvarint(out, uint64(len(s))), s...)
	}
	slices.SortFunc(c.items, func(a, b packed) int { return cmp.Compare(a.place, b.place) })
	for _, it := range c.items {
		out = append(out, c.trials[it.from:it.to]...)
	}
	return out
}

// bundleReader reads a study's bundles one after the other.
type bundleReader struct {
	names  results.Names // texts of all bundles
	words  []string      // of this one
	trials coder
	places int
}

// begin begins a bundle.
func (r *bundleReader) begin(b []byte) error {
	n, used := binary.Uvarint(b)
	if used <= 0 || n > uint64(len(b)) {
		return errPacked
	}
	b = b[used:]
	r.words = r.words[:0]
	for range n {
		length, used := binary.Uvarint(b)
		if used <= 0 || length > uint64(len(b)-used) {
			return errPacked
		}
		b = b[used:]
		s, known := r.names[string(b[:length])]
		if !known {
			s = r.names.Of(string(b[:length]))
		}
		r.words, b = append(r.words, s), b[length:]
	}
	r.trials.reading, r.trials.known, r.trials.bytes, r.trials.at = true, r.words, b, 0
	return nil
}

// next reads the next trial of the bundle, whose study and model s has; false: there
// is none. The slots of s are used again.
func (r *bundleReader) next(s *Scored) (bool, error) {
	c := &r.trials
	if c.at == len(c.bytes) {
		return false, nil
	}
	s.Row = results.Row{Key: results.Key{Study: s.Row.Key.Study, Model: s.Row.Key.Model}}
	c.row(&s.Row)
	n := c.unsigned(0)
	if c.bad || n > uint64(len(c.bytes)-c.at) {
		return false, errPacked
	}
	var err error
	s.values, err = unpack(c.bytes[c.at:c.at+int(n)], r.words, s.values, r.places)
	c.at += int(n)
	return err == nil, err
}

// coder appends what it is shown to bytes, or reads it from there: one description of
// a row serves both ways.
type coder struct {
	bytes   []byte
	at      int       // of bytes, of who reads
	words   *wordList // of who writes
	known   []string  // of who reads
	reading bool
	bad     bool // nothing that was read from here on is right

	// Where what may be missing is put.
	spans    room[time.Duration]
	counts   room[int]
	truths   room[bool]
	uses     room[results.Use]
	energies room[timing.Millijoules]
	ratios   room[float64]
}

// room is for many values: made one by one, those of a million trials would be most of the
// time that reading takes.
type room[T any] []T

func (r *room[T]) next() *T {
	if len(*r) == 0 {
		*r = make([]T, 256)
	}
	v := &(*r)[0]
	*r = (*r)[1:]
	return v
}

// row is all of a row but study and model.
func (c *coder) row(r *results.Row) {
	c.text(&r.Key.Item)
	c.text(&r.Key.Arm)
	c.text(&r.Key.Condition)
	whole(c, &r.Key.Repeat)
	c.truth(&r.Failed)
	c.text(&r.Kind)
	for _, d := range []**time.Duration{&r.TTFT, &r.Latency, &r.Decode, &r.ServerTotal} {
		maybe(c, d, &c.spans, whole)
	}
	for _, n := range []**int{&r.PromptTokens, &r.CompletionTokens, &r.FirstTokens} {
		maybe(c, n, &c.counts, whole)
	}
	maybe(c, &r.TTFTAtMost, &c.truths, (*coder).truth)
	maybe(c, &r.LatencyAtMost, &c.truths, (*coder).truth)
	list(c, &r.Flags, text)
	whole(c, &r.Attempts)
	text(c, &r.CachePolicy)
	text(c, &r.CacheState)
	c.text(&r.CacheNote)
	list(c, &r.Invalid, func(c *coder, f *[]results.Flag) { list(c, f, text) })
	for _, d := range r.Paces.Spans() {
		maybe(c, d, &c.spans, whole)
	}
	maybe(c, &r.CachedTokens, &c.counts, whole)
	maybe(c, &r.GPU, &c.uses, (*coder).use)
	maybe(c, &r.CPU, &c.uses, (*coder).use)
}

func (c *coder) use(u *results.Use) {
	maybe(c, &u.Held, &c.spans, whole)
	maybe(c, &u.Devices, &c.counts, whole)
	whole(c, &u.From)
	whole(c, &u.To)
	decimal(c, &u.Gross)
	decimal(c, &u.Uncertainty)
	maybe(c, &u.Net, &c.energies, decimal)
	maybe(c, &u.NetUncertainty, &c.energies, decimal)
	maybe(c, &u.Absolute, &c.energies, decimal)
	maybe(c, &u.NetAbsolute, &c.energies, decimal)
	text(c, &u.Method)
	c.text(&u.Sensor)
	whole(c, &u.Ticks)
	whole(c, &u.Tick)
	c.truth(&u.LowConfidence)
	list(c, &u.Flags, text)
	maybe(c, &u.Ratio, &c.ratios, decimal)
	c.text(&u.Unknown)
}

// unsigned is v, or what is read instead.
func (c *coder) unsigned(v uint64) uint64 {
	if !c.reading {
		c.bytes = binary.AppendUvarint(c.bytes, v)
		return v
	}
	if c.at < len(c.bytes) && c.bytes[c.at] < 0x80 { // as most are
		c.at++
		return uint64(c.bytes[c.at-1])
	}
	v, used := binary.Uvarint(c.bytes[c.at:])
	if used <= 0 {
		c.fail()
		return 0
	}
	c.at += used
	return v
}

func (c *coder) fail() { c.bad, c.bytes, c.at = true, nil, 0 }

func (c *coder) truth(v *bool) {
	var n uint64
	if *v {
		n = 1
	}
	*v = c.unsigned(n) == 1
}

func (c *coder) text(v *string) { text(c, v) }

func text[T ~string](c *coder, v *T) {
	if !c.reading {
		c.unsigned(c.words.place(string(*v)))
		return
	}
	at := c.unsigned(0)
	if at >= uint64(len(c.known)) {
		c.fail()
		return
	}
	*v = T(c.known[at])
}

func whole[T ~int | ~int64](c *coder, v *T) {
	n := int64(*v)
	*v = T(zag(c.unsigned(uint64(n<<1 ^ n>>63))))
}

func zag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }

func decimal[T ~float64](c *coder, v *T) {
	if !c.reading {
		c.bytes = binary.LittleEndian.AppendUint64(c.bytes, math.Float64bits(float64(*v)))
		return
	}
	if len(c.bytes)-c.at < 8 {
		c.fail()
		return
	}
	*v = T(math.Float64frombits(binary.LittleEndian.Uint64(c.bytes[c.at:])))
	c.at += 8
}

// maybe is a value that may be missing.
func maybe[T any](c *coder, v **T, in *room[T], one func(*coder, *T)) {
	there := *v != nil
	if c.truth(&there); !there {
		return
	}
	if c.reading {
		*v = in.next()
	}
	one(c, *v)
}

// list is a list, which has as many bytes as values at least; none is nil.
func list[T any](c *coder, v *[]T, one func(*coder, *T)) {
	n := c.unsigned(uint64(len(*v)))
	if c.reading {
		if n > uint64(len(c.bytes)-c.at) {
			c.fail()
			return
		}
		if n > 0 {
			*v = make([]T, n)
		}
	}
	for i := range *v {
		one(c, &(*v)[i])
	}
}
