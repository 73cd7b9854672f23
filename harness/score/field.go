package score

import "strconv"

// scoreIn is the whole number called score of the object that b is, as encoding/json reads
// it into a *int: nil where it is null or missing. It reads what json.Marshal writes, in a
// fraction of the time; sure is false where that takes a whole decoder to say.
func scoreIn(b []byte) (v *int, sure bool) {
	const name = "score"
	s := scanner{b: b}
	if !s.take('{') {
		return nil, false
	}
	var of []byte
	for first := true; !s.take('}'); first = false {
		if !first && !s.take(',') {
			return nil, false
		}
		key, ok := s.text()
		if !ok || !s.take(':') {
			return nil, false
		}
		from := s.at
		if !s.value(0) {
			return nil, false
		}
		if !mayBe(key, name) {
			continue
		}
		if string(key) != name { // in other letters
			return nil, false
		}
		of = b[from:s.at]
	}
	switch {
	case s.at != len(b):
		return nil, false
	case of == nil || string(of) == "null":
		return nil, true
	}
	n, err := strconv.Atoi(string(of))
	if err != nil {
		return nil, false
	}
	return &n, true
}

// mayBe says whether a key may be a name in other letters: also where that is not plain to
// see.
func mayBe(key []byte, name string) bool {
	for _, c := range key {
		if c == '\\' || c >= 0x80 {
			return true
		}
	}
	if len(key) != len(name) {
		return false
	}
	for i, c := range key {
		if c|0x20 != name[i]|0x20 {
			return false
		}
	}
	return true
}

// scanner goes through JSON without spaces.
type scanner struct {
	b  []byte
	at int
}

func (s *scanner) take(c byte) bool {
	if s.at < len(s.b) && s.b[s.at] == c {
		s.at++
		return true
	}
	return false
}

// text goes over a string and is what stands between its quotes.
func (s *scanner) text() ([]byte, bool) {
	if !s.take('"') {
		return nil, false
	}
	for from := s.at; s.at < len(s.b); s.at++ {
		switch c := s.b[s.at]; {
		case c == '"':
			s.at++
			return s.b[from : s.at-1], true
		case c < ' ':
			return nil, false
		case c == '\\':
			if s.at++; s.at >= len(s.b) || !s.escape(s.b[s.at]) {
				return nil, false
			}
		}
	}
	return nil, false
}

// escape goes to the last character of what follows a backslash.
func (s *scanner) escape(c byte) bool {
	switch c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	case 'u':
		for range 4 {
			if s.at++; s.at >= len(s.b) {
				return false
			}
			if c := s.b[s.at]; (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') {
				return false
			}
		}
		return true
	}
	return false
}

// value goes over a value.
func (s *scanner) value(deep int) bool {
	const deepest = 100
	if s.at >= len(s.b) || deep > deepest {
		return false
	}
	switch c := s.b[s.at]; c {
	case '"':
		_, ok := s.text()
		return ok
	case '{', '[':
		s.at++
		end := c + 2 // of either
		for first := true; !s.take(end); first = false {
			if !first && !s.take(',') {
				return false
			}
			if c == '{' {
				if _, ok := s.text(); !ok || !s.take(':') {
					return false
				}
			}
			if !s.value(deep + 1) {
				return false
			}
		}
		return true
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	}
	return s.number()
}

func (s *scanner) word(w string) bool {
	if len(s.b)-s.at < len(w) || string(s.b[s.at:s.at+len(w)]) != w {
		return false
	}
	s.at += len(w)
	return true
}

// number goes over a whole number; another takes a decoder.
func (s *scanner) number() bool {
	s.take('-')
	from := s.at
	for s.at < len(s.b) && s.b[s.at] >= '0' && s.b[s.at] <= '9' {
		s.at++
	}
	return s.at > from && (s.b[from] != '0' || s.at == from+1)
}
