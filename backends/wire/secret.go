package wire

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// A server may give back the key that it was sent: whole, in any spelling, cut by a
// limit of ours, or one character per event. None of it may reach a store, a log
// or a message.

// spellings are the ways in which a server, or a message about its reply, may
// give a key back: as it is, and escaped. "": none.
func spellings(key string) []string {
	if key == "" {
		return nil
	}
	inJSON, err := json.Marshal(key)
	if err != nil {
		panic("wire: internal error: a key does not marshal: " + err.Error())
	}
	quoted := strconv.Quote(key)
	all := []string{key, string(inJSON[1 : len(inJSON)-1]), quoted[1 : len(quoted)-1], strings.ReplaceAll(key, "/", `\/`), url.QueryEscape(key)}
	// The longest first: one may stand inside another.
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return slices.Compact(all)
}

// Mask takes keys out of texts of a reply that this package did not read: answers out
// of what is kept, messages, which also finds short keys, out of what is told.
func Mask(keys ...string) (answers, messages func(string) string) {
	var shows, long []string
	for _, key := range keys {
		own := spellings(key)
		shows, long = append(shows, own...), append(long, secrets(key, own)...)
	}
	return func(s string) string { return hide(s, long) }, func(s string) string { return hide(s, shows) }
}

// leastSecret is how many bytes a key has that is looked for in answers. Shorter
// ones, such as the "none" and "ollama" that are sent to servers without keys,
// are words that an answer may hold; they are left out of messages alone.
const leastSecret = 12

// secrets are the spellings to be left out of what is not a message.
func secrets(key string, shows []string) []string {
	if len(key) < leastSecret {
		return nil
	}
	return shows
}

// redact takes the key out of a message.
func (c *Client) redact(s string) string { return hide(s, c.shows) }

// redacted is what stands in a key's place.
const redacted = "[key]"

// hide takes the keys out of s, and the beginnings of keys that s cuts off, from
// leastSecret bytes on. What JSON escapes is read as what it means.
func hide(s string, keys []string) string {
	if len(keys) == 0 {
		return s
	}
	s = cut(s, spans(s, keys))
	if !strings.Contains(s, `\u`) {
		return s
	}
	text, at := unescaped(s)
	found := spans(text, keys)
	for i := range found {
		found[i] = [2]int{at[found[i][0]], at[found[i][1]]}
	}
	return cut(s, found)
}

// spans are where keys, or beginnings of them, stand in s: in order, apart.
func spans(s string, keys []string) (found [][2]int) {
	for from := 0; from < len(s); {
		first, end := -1, 0
		for _, k := range keys {
			i := strings.Index(s[from:], k[:min(len(k), leastSecret)])
			if i < 0 || first >= 0 && from+i > first {
				continue
			}
			n := 0
			for n < len(k) && from+i+n < len(s) && s[from+i+n] == k[n] {
				n++
			}
			if from+i < first || first < 0 || from+i+n > end {
				first, end = from+i, from+i+n
			}
		}
		if first < 0 {
			return found
		}
		found = append(found, [2]int{first, end})
		from = end
	}
	return found
}

// cut puts a mark in the place of each of the spans.
func cut(s string, spans [][2]int) string {
	if len(spans) == 0 {
		return s
	}
	var b strings.Builder
	from := 0
	for _, sp := range spans {
		b.WriteString(s[from:sp[0]])
		b.WriteString(redacted)
		from = sp[1]
	}
	b.WriteString(s[from:])
	return b.String()
}

// unescaped reads JSON's escapes of ASCII (\u0041), and says where each byte, and the
// end, stands in s.
func unescaped(s string) (string, []int) {
	text, at := make([]byte, 0, len(s)), make([]int, 0, len(s)+1)
	for i := 0; i < len(s); {
		n, c := 1, s[i]
		if c == '\\' && i+6 <= len(s) && s[i+1] == 'u' {
			if v, err := strconv.ParseUint(s[i+2:i+6], 16, 16); err == nil && v < 0x80 {
				n, c = 6, byte(v)
			}
		}
		text, at, i = append(text, c), append(at, i), i+n
	}
	return string(text), append(at, len(s))
}

// clean is a part of a reply without the key: a server that echoes what it is sent
// must not carry it into an answer.
func clean(part []byte, keys []string) []byte {
	if len(keys) == 0 {
		return part
	}
	s := string(part)
	if out := hide(s, keys); out != s {
		return []byte(out)
	}
	return part
}

// Text is the body without the key, whatever cuts it afterwards.
func (t *Buffer) Text() []byte { return clean(t.Body, t.keys) }

// Redact takes the key out of texts that were put together from parts of the reply,
// one after the other: it may have come in chunks, and over the end of one text.
func (t *Buffer) Redact(texts ...*string) {
	if len(t.secrets) == 0 {
		return
	}
	var all strings.Builder
	for _, s := range texts {
		all.WriteString(*s)
	}
	found := spans(all.String(), t.secrets)
	begin := 0
	for _, s := range texts {
		end := begin + len(*s)
		var own [][2]int
		for _, sp := range found {
			if from, to := max(sp[0], begin), min(sp[1], end); from < to {
				own = append(own, [2]int{from - begin, to - begin})
			}
		}
		*s, begin = cut(*s, own), end
	}
	for _, s := range texts { // what JSON inside the text escapes
		*s = hide(*s, t.secrets)
	}
}
