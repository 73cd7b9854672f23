package text

import (
	"encoding/json"
	"regexp"
	"strings"
)

// span is a stretch of bytes.
type span struct{ from, to int }

// tag is <think>, <answer> or the end of one.
type tag struct {
	span
	closing, think bool
}

// tags are those of a text: in any case, with white space around their parts. Written
// out, because it is done to every answer for every score.
func tags(s string) []tag {
	var out []tag
	for at := 0; ; {
		open := strings.IndexByte(s[at:], '<')
		if open < 0 {
			return out
		}
		at += open
		rest := blank(s[at+1:])
		t := tag{span: span{from: at}}
		if t.closing = strings.HasPrefix(rest, "/"); t.closing {
			rest = blank(rest[1:])
		}
		after, found := without(rest, "answer")
		if !found {
			after, t.think = without(rest, "think")
			found = t.think
		}
		if after = blank(after); !found || !strings.HasPrefix(after, ">") {
			at++
			continue
		}
		t.to = len(s) - len(after) + 1
		out, at = append(out, t), t.to
	}
}

// blank is a text without the white space that it begins with.
func blank(s string) string { return strings.TrimLeft(s, "\t\n\f\r ") }

// without is a text without the name that it begins with, in any case.
func without(s, name string) (string, bool) {
	runes := len(name) // they are ASCII; what equals them may take more bytes
	for i := range s {
		if runes == 0 {
			return s[i:], strings.EqualFold(s[:i], name)
		}
		runes--
	}
	return "", runes == 0 && strings.EqualFold(s, name)
}

// Reasoning is what judges see of an output (metrics.md section 2.3): the
// reasoning channel, then the content of <think>, then other text outside
// <answer>. Each part is trimmed; parts stand on lines of their own.
func Reasoning(answer, channel string) string {
	think, outside := splitThink(answer)
	parts := append([]string{bare(channel)}, think...)
	at := 0
	for _, s := range answerSpans(outside) {
		parts = append(parts, outside[at:s.whole.from])
		at = s.whole.to
	}
	return join(append(parts, outside[at:]))
}

// Outside is the text of an output outside <think>, <answer> tags included: what
// a reader would take for the reply.
func Outside(answer string) string {
	_, outside := splitThink(answer)
	return outside
}

// tagged is the answer that a reply has in the last <answer> or, without any, in its last
// JSON key "answer"; found: it has one of them. An <answer> that is empty is no answer, and
// one that is not closed is a tag only where one line ends the text behind it.
func tagged(outside string) (answer string, found bool) {
	if spans := answerSpans(outside); len(spans) > 0 {
		in := spans[len(spans)-1].inner
		return strings.TrimSpace(outside[in.from:in.to]), true
	}
	answer, found = jsonAnswer(outside)
	return strings.TrimSpace(answer), found
}

// splitThink separates the contents of <think> from the text around them. A
// <think> without an end reaches to the end of the text. A </think> without a
// beginning ends reasoning that began before the text, because some chat
// templates put <think> into the prompt.
func splitThink(s string) (think []string, outside string) {
	var rest []string
	at, open := 0, -1 // end of the last region; where the present one begins
	for _, t := range tags(s) {
		switch {
		case !t.think:
		case !t.closing && open < 0:
			rest = append(rest, s[at:t.from])
			open = t.to
		case t.closing && open >= 0:
			think = append(think, s[open:t.from])
			at, open = t.to, -1
		case t.closing:
			think = append(think, s[at:t.from])
			at = t.to
		}
	}
	if open >= 0 {
		think = append(think, s[open:])
	} else {
		rest = append(rest, s[at:])
	}
	return think, join(rest)
}

// answerSpans finds each </answer> with the nearest <answer> before it, and a last <answer>
// behind which nothing stands but a line.
func answerSpans(s string) []struct{ whole, inner span } {
	var out []struct{ whole, inner span }
	var open *span
	for _, t := range tags(s) {
		switch {
		case t.think:
		case !t.closing:
			open = &t.span
		case open != nil:
			out = append(out, struct{ whole, inner span }{span{open.from, t.to}, span{open.to, t.from}})
			open = nil
		}
	}
	if open != nil {
		if last := strings.TrimSpace(s[open.to:]); last != "" && !strings.ContainsAny(last, "\r\n") {
			out = append(out, struct{ whole, inner span }{span{open.from, len(s)}, span{open.to, len(s)}})
		}
	}
	return out
}

// An expression and not a JSON parser: replies wrap their JSON in prose and
// fences, and a bounded pattern takes linear time on hostile text.
var jsonKey = regexp.MustCompile(`(?i)[{,]\s*"(?:(?:final|correct)?[ _]?answer)"\s*:\s*("(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*|true|false|null|\[[^\[\]{}]*\])`)

// jsonAnswer is the value of the last key "answer": a string, a number or a
// truth value as written, a list of them joined by commas, or "" for null.
func jsonAnswer(s string) (string, bool) {
	all := jsonKey.FindAllStringSubmatch(s, -1)
	for i := len(all) - 1; i >= 0; i-- {
		raw := all[i][1]
		var list []json.RawMessage
		if json.Unmarshal([]byte(raw), &list) != nil {
			list = []json.RawMessage{json.RawMessage(raw)}
		}
		words := make([]string, 0, len(list))
		for _, v := range list {
			var w string
			if json.Unmarshal(v, &w) != nil {
				w = string(v)
			}
			words = append(words, w)
		}
		if json.Valid([]byte(raw)) {
			return strings.Join(words, ", "), true
		}
	}
	return "", false
}

// bare removes one pair of <think> tags around a reasoning channel.
func bare(s string) string {
	s = strings.TrimSpace(s)
	if all := tags(s); len(all) > 0 && all[0].from == 0 && all[0].think && !all[0].closing {
		s = s[all[0].to:]
	}
	if all := tags(s); len(all) > 0 {
		if last := all[len(all)-1]; last.to == len(s) && last.think && last.closing {
			s = s[:last.from]
		}
	}
	return s
}

// join puts the parts that are not blank on lines of their own.
func join(parts []string) string {
	kept := parts[:0:0]
	for _, p := range parts {
		if p = strings.TrimSpace(p); p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, "\n")
}

// Types of M3CoTBench questions.
const (
	Single   = "single"
	Multiple = "multiple"
	Bool     = "bool"
	Short    = "short"
)

// QuestionType is the type of an M3CoTBench question by its wording: the first
// phrase that occurs, whatever its case, decides (metrics.md section 1).
func QuestionType(question string) string {
	q := strings.ToLower(question)
	switch {
	case strings.Contains(q, "select all that apply"):
		return Multiple
	case strings.Contains(q, "select one option"):
		return Single
	case strings.Contains(q, "true or false"):
		return Bool
	}
	return Short
}
