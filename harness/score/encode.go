package score

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"slices"
)

// format of packed scores; another one makes them anew.
const format = 4

// A trial's scores are packed place by place: a byte that says what follows, and
// that. Texts stand once in the words of a bundle. Those at the end that do not exist
// are left out.
const (
	packAbsent    byte = iota
	packZero           // 0
	packOne            // 1
	packWhole          // a whole number, as a varint
	packNumber         // eight bytes
	packLabel          // a text: its place in the list of words
	packInvalid        // a reason, likewise
	packUndefined      // a reason, likewise
)

// about is what a set says of how its scores are read.
type about struct {
	Scores [][2]string // name and judge of each place
}

// words is the list of texts.
type wordList struct {
	list []string
	at   map[string]int
}

func (w *wordList) place(s string) uint64 {
	at, ok := w.at[s]
	if !ok {
		if w.at == nil {
			w.at = map[string]int{}
		}
		at = len(w.list)
		w.at[s], w.list = at, append(w.list, s)
	}
	return uint64(at)
}

func pack(slots []slot, words *wordList) []byte {
	var out []byte
	n := len(slots)
	for n > 0 && slots[n-1].kind == absent {
		n--
	}
	for _, s := range slots[:n] {
		switch v := s.number; {
		case s.kind == absent:
			out = append(out, packAbsent)
		case s.kind == label:
			out = binary.AppendUvarint(append(out, packLabel), words.place(s.text))
		case s.kind == invalid:
			out = binary.AppendUvarint(append(out, packInvalid), words.place(s.text))
		case s.kind == undefined:
			out = binary.AppendUvarint(append(out, packUndefined), words.place(s.text))
		case v == 0 && !math.Signbit(v):
			out = append(out, packZero)
		case v == 1:
			out = append(out, packOne)
		case v == math.Trunc(v) && math.Abs(v) < 1<<48 && v != 0:
			out = binary.AppendVarint(append(out, packWhole), int64(v))
		default:
			out = binary.LittleEndian.AppendUint64(append(out, packNumber), math.Float64bits(v))
		}
	}
	return out
}

var errPacked = errors.New("its scores cannot be read")

func unpack(b []byte, words []string, slots []slot, most int) ([]slot, error) {
	slots = slices.Grow(slots[:0], most)
	for at := 0; at < len(b); {
		if len(slots) == most {
			return nil, errPacked
		}
		slots = slots[:len(slots)+1]
		s := &slots[len(slots)-1] // with what is left of an earlier trial
		what := b[at]
		at++
		s.number = 0
		if s.text != "" {
			s.text = ""
		}
		switch what {
		case packAbsent:
			s.kind = absent
		case packZero:
			s.kind = number
		case packOne:
			s.kind, s.number = number, 1
		case packWhole:
			v, used := binary.Varint(b[at:])
			if used <= 0 {
				return nil, errPacked
			}
			at += used
			s.kind, s.number = number, float64(v)
		case packNumber:
			if len(b)-at < 8 {
				return nil, errPacked
			}
			s.kind, s.number = number, math.Float64frombits(binary.LittleEndian.Uint64(b[at:]))
			at += 8
			if math.IsNaN(s.number) || math.IsInf(s.number, 0) {
				return nil, errPacked
			}
		case packLabel, packInvalid, packUndefined:
			n, used := binary.Uvarint(b[at:])
			if used <= 0 || n >= uint64(len(words)) {
				return nil, errPacked
			}
			at += used
			s.kind, s.text = [...]kind{packLabel: label, packInvalid: invalid, packUndefined: undefined}[what], words[n]
		default:
			return nil, errPacked
		}
	}
	return slots, nil
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
