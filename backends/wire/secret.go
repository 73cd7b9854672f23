package wire

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// A server may give back the key that it was sent. It must not reach a store, a log or a
// message: texts are masked before they are cut, and once more when they are put together.

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

// secrets are the spellings to be left out of what is not a message. Short keys, such as the
// "none" and "ollama" that are sent to servers without keys, are words that an answer may hold.
func secrets(key string, shows []string) []string {
	if len(key) < 12 {
		return nil
	}
	return shows
}

// hide takes the keys out of s.
func hide(s string, keys []string) string {
	for _, k := range keys {
		s = strings.ReplaceAll(s, k, "[key]")
	}
	return s
}

// redact takes the key out of a message.
func (c *Client) redact(s string) string { return hide(s, c.shows) }

// clean is a part of a reply without the key: a server that echoes what it is sent
// must not carry it into an answer.
func clean(part []byte, keys []string) []byte {
	if len(keys) == 0 {
		return part
	}
	return []byte(hide(string(part), keys))
}

// Text is the body without the key, whatever cuts it afterwards.
func (t *Buffer) Text() []byte { return clean(t.Body, t.keys) }

// Redact takes the key out of texts that were put together from parts of the reply: it may
// have come in chunks.
func (t *Buffer) Redact(texts ...*string) {
	for _, s := range texts {
		*s = hide(*s, t.secrets)
	}
}
