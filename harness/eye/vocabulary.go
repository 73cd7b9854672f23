package eye

import "strings"

// Vocabulary is what a model's tokens are.
type Vocabulary struct {
	Texts  []string `json:"tokens"` // as GGUF files write them: each byte as one letter
	Types  []int    `json:"types"`  // 3: of control; 1: others
	Merges []string `json:"merges"`
	of     map[string]int
}

// Tokens of control, by number.
const (
	begin     = 1
	stop      = 2
	inst      = 3
	instEnd   = 4
	system    = 5
	systemEnd = 6
	imageEnd  = 13
	controls  = 14 // how many there are
)

// NewVocabulary is the tokens of control, all bytes, and words. Words are found whole, as
// llama.cpp does for "tekken" (ignore_merges), else they are spelled in bytes; its one
// merge is there because a list must not be empty.
func NewVocabulary(words []string) *Vocabulary {
	v := &Vocabulary{Texts: []string{"<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[S7]", "[S8]", "[S9]",
		"[IMG]", "<pad>", "[IMG_BREAK]", "[IMG_END]"}}
	for range v.Texts {
		v.Types = append(v.Types, 3)
	}
	for b := range 256 {
		v.Texts = append(v.Texts, byteLetters(string([]byte{byte(b)})))
	}
	zero := byteLetters("\x00")
	v.Merges = []string{zero + " " + zero}
	v.Texts = append(v.Texts, zero+zero)
	for _, w := range words {
		v.Texts = append(v.Texts, byteLetters(w))
	}
	for len(v.Types) < len(v.Texts) {
		v.Types = append(v.Types, 1)
	}
	v.index()
	return v
}

func (v *Vocabulary) index() {
	v.of = map[string]int{}
	for i, t := range v.Texts {
		v.of[t] = i
	}
}

// byteLetters writes each byte as a letter, as GPT-2 does: printable ones as they are, others
// from U+0100 on.
func byteLetters(s string) string {
	var out strings.Builder
	for _, b := range []byte(s) {
		out.WriteRune(byteLetter(b))
	}
	return out.String()
}

func byteLetter(b byte) rune {
	plain := func(b byte) bool { return b > 32 && b < 127 || b > 0xa0 && b != 0xad }
	if plain(b) {
		return rune(b)
	}
	n := rune(256)
	for c := range b {
		if !plain(c) {
			n++
		}
	}
	return n
}

// Tokens are the tokens of text, none of control.
func (v *Vocabulary) Tokens(text string) (ids []int) {
	for _, w := range Split(text) {
		if id, ok := v.of[byteLetters(w)]; ok {
			ids = append(ids, id)
			continue
		}
		for i := range len(w) {
			ids = append(ids, v.of[byteLetters(w[i:i+1])])
		}
	}
	return ids
}

// text is what a token says.
func (v *Vocabulary) text(id int) string {
	var out []byte
	for _, letter := range v.Texts[id] {
		b := byte(letter)
		if letter > 255 {
			n := rune(256)
			for c := range 256 {
				if byteLetter(byte(c)) > 255 {
					if n == letter {
						b = byte(c)
					}
					n++
				}
			}
		}
		out = append(out, b)
	}
	return string(out)
}
