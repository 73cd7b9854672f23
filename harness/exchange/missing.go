package exchange

import "encoding/json"

// missing writes why scores of a row are missing, as JSON. It is made of few different
// texts, which are quoted once, and few rows have their own.
type missing struct {
	quoted map[string][]byte
	whole  map[string]any
	bytes  []byte
}

// manyTexts are kept at most, so that reasons which name what happened to one trial do
// not fill the memory.
const manyTexts = 10_000

func newMissing() *missing {
	return &missing{quoted: map[string][]byte{}, whole: map[string]any{}}
}

// add is called in the order of the names, as encoding/json has them.
func (m *missing) add(name, why string) {
	between := byte(',')
	if len(m.bytes) == 0 {
		between = '{'
	}
	m.bytes = append(append(m.bytes, between), m.quote(name)...)
	m.bytes = append(append(m.bytes, ':'), m.quote(why)...)
}

// take is what was added since it was called last, nil if nothing was.
func (m *missing) take() any {
	if len(m.bytes) == 0 {
		return nil
	}
	m.bytes = append(m.bytes, '}')
	text, known := m.whole[string(m.bytes)]
	if !known {
		text = string(m.bytes)
		if len(m.whole) < manyTexts {
			m.whole[string(m.bytes)] = text
		}
	}
	m.bytes = m.bytes[:0]
	return text
}

func (m *missing) quote(s string) []byte {
	b, known := m.quoted[s]
	if !known {
		b, _ = json.Marshal(s) // of a text, it never fails
		if len(m.quoted) < manyTexts {
			m.quoted[s] = b
		}
	}
	return b
}
