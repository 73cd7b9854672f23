package phantom

import (
	"fmt"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Phantom servers continue texts as they stand, without a chat template, and say which
// tokens texts have.

// more is how a text goes on.
type more struct {
	text           string
	prompt, tokens int    // of what was sent, of text
	finish         string // "stop", "length"
}

// goOn continues a text for the reader of a job; at most limit tokens of it, 0: all.
func (s *server) goOn(j *job, text string, limit int, seed int64) more {
	if j.is != fine {
		return more{}
	}
	r, err := s.options.Skill.Read(j.reader, s.options.Seed, Ask{Prompt: text, Raw: true, Seed: seed})
	if err != nil {
		j.trouble = trouble{broken, err}
	}
	tokens, finish := split(r.Answer), "stop"
	if limit > 0 && len(tokens) > limit {
		tokens, finish = tokens[:limit], "length"
	}
	return more{strings.Join(tokens, ""), len(split(text)), len(tokens), finish}
}

// tokenized is a request to /tokenize or /detokenize as llama-server and vLLM take it.
type tokenized struct {
	Content string `json:"content"` // llama-server
	Prompt  string `json:"prompt"`  // vLLM
	Tokens  []int  `json:"tokens"`
}

func (s *server) tokenize(w http.ResponseWriter, r *http.Request) (job, any) {
	var asked tokenized
	j := read(w, r, &asked)
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := []int{}
	for _, text := range split(asked.Content + asked.Prompt) {
		id, ok := s.tokens[text]
		if !ok {
			id = len(s.texts)
			s.tokens[text], s.texts = id, append(s.texts, text)
		}
		ids = append(ids, id)
	}
	return j, map[string]any{"tokens": ids, "count": len(ids)}
}

func (s *server) detokenize(w http.ResponseWriter, r *http.Request) (job, any) {
	var asked tokenized
	j := read(w, r, &asked)
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, id := range asked.Tokens {
		if id < 0 || id >= len(s.texts) {
			j.trouble = trouble{badToken, fmt.Errorf("there is no token %d", id)}
			break
		}
		b.WriteString(s.texts[id])
	}
	return j, map[string]string{"content": b.String(), "prompt": b.String()}
}

// split cuts a text into tokens: words with the space before them, long ones in two.
func split(text string) []string {
	var out []string
	for text != "" {
		end := len(text)
		if i := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsSpace(r) }); i >= 0 {
			if k := strings.IndexFunc(text[i:], unicode.IsSpace); k >= 0 {
				end = i + k
			}
		}
		if end > 12 {
			end = 8
			for !utf8.RuneStart(text[end]) {
				end--
			}
		}
		out, text = append(out, text[:end]), text[end:]
	}
	return out
}
