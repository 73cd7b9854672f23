package eye

// Split cuts text as llama.cpp's pre-tokeniser "tekken" does, of which this is the part
// for ASCII: a word with what stands before it, one digit, marks, line ends, blanks.
// Bytes above 127 count as lower-case letters.
func Split(text string) (out []string) {
	for len(text) > 0 {
		n := piece(text)
		out = append(out, text[:n])
		text = text[n:]
	}
	return out
}

func upper(c byte) bool  { return c >= 'A' && c <= 'Z' }
func lower(c byte) bool  { return c >= 'a' && c <= 'z' || c >= 128 }
func isWord(c byte) bool { return upper(c) || lower(c) }
func digit(c byte) bool  { return c >= '0' && c <= '9' }
func end(c byte) bool    { return c == '\r' || c == '\n' }
func blank(c byte) bool  { return c == ' ' || c >= '\t' && c <= '\r' }

// run is how many bytes from a place on are of a kind.
func run(s string, from int, is func(byte) bool) int {
	n := from
	for n < len(s) && is(s[n]) {
		n++
	}
	return n - from
}

// piece is the length of the first piece of s.
func piece(s string) int {
	at := 0
	if c := s[0]; !isWord(c) && !digit(c) && !end(c) {
		at = 1
	}
	if ups := run(s, at, upper); ups+run(s, at+ups, lower) > 0 {
		return at + ups + run(s, at+ups, lower)
	}
	if digit(s[0]) {
		return 1
	}
	at = 0
	if s[0] == ' ' {
		at = 1
	}
	mark := func(c byte) bool { return !blank(c) && !isWord(c) && !digit(c) }
	if n := run(s, at, mark); n > 0 {
		at += n
		return at + run(s, at, func(c byte) bool { return end(c) || c == '/' })
	}
	blanks := run(s, 0, blank)
	for n := blanks; n > 0; n-- { // blanks up to the last line end among them
		if end(s[n-1]) {
			return n
		}
	}
	if blanks > 1 && blanks < len(s) {
		return blanks - 1 // the last blank belongs to what follows
	}
	return blanks
}
