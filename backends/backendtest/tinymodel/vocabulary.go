package tinymodel

import (
	"slices"
	"strings"
)

// lexicon is what the model likes to say.
const lexicon = `
the a of in on at with and or no not is are was this there
image shows finding normal abnormal possible likely none
left right upper lower middle central peripheral bilateral small large round oval dense clear
lung heart rib spine pleura effusion nodule opacity mass fracture tube line device shadow border
chest skin eye retina bone brain liver kidney vessel
one two three four several first second next then therefore because
answer question step option yes no true false correct wrong present absent`

// Token classes of the GGUF tokenizer.
const (
	tokenNormal  = 1
	tokenControl = 3
)

// Fixed places of control tokens: Ollama's mistral3 looks for the image tokens
// by number.
const (
	tokenUnknown    = 0
	tokenBegin      = 1
	tokenEnd        = 2
	tokenImage      = 10
	tokenPadding    = 11
	tokenImageBreak = 12
	tokenImageEnd   = 13
)

// vocabulary is a byte-level BPE vocabulary: control tokens, one token per
// byte, then every prefix of every word of the lexicon, so that a word is
// reached by merging one letter after another.
type vocabulary struct {
	tokens  []string
	classes []int32
	merges  []string
	appeal  []float32 // what is added to a token's logit
}

const (
	never      = -40 // control tokens and bytes that alone are not UTF-8
	fragment   = -7  // an unfinished word
	wordAppeal = 0.3
)

func newVocabulary(endAppeal float32) *vocabulary {
	v := &vocabulary{}
	number := map[string]int{}
	put := func(token string, class int32, appeal float32) {
		number[token] = len(v.tokens)
		v.tokens = append(v.tokens, token)
		v.classes = append(v.classes, class)
		v.appeal = append(v.appeal, appeal)
	}
	control := []string{
		tokenUnknown: "<unk>", tokenBegin: "<s>", tokenEnd: "</s>",
		3: "[INST]", 4: "[/INST]", 5: "[SYSTEM_PROMPT]", 6: "[/SYSTEM_PROMPT]", 7: "[SPARE_7]", 8: "[SPARE_8]", 9: "[SPARE_9]",
		tokenImage: "[IMG]", tokenPadding: "<pad>", tokenImageBreak: "[IMG_BREAK]", tokenImageEnd: "[IMG_END]",
	}
	for i, c := range control {
		appeal := float32(never)
		if i == tokenEnd {
			appeal = endAppeal
		}
		put(c, tokenControl, appeal)
	}
	letters := byteLetters()
	for b, letter := range letters {
		put(string(letter), tokenNormal, byteAppeal(byte(b)))
	}
	for _, word := range strings.Fields(lexicon) {
		whole := string(letters[' '])
		for _, r := range word {
			longer := whole + string(r)
			if _, known := number[longer]; !known {
				v.merges = append(v.merges, whole+" "+string(r))
				put(longer, tokenNormal, fragment)
			}
			whole = longer
		}
		v.appeal[number[whole]] = wordAppeal
	}
	return v
}

// say adds a text that the model can say as one token. Nothing it reads is
// taken for it: no merge leads there.
func (v *vocabulary) say(text string, appeal float32) {
	letters := byteLetters()
	token := ""
	for _, b := range []byte(text) {
		token += string(letters[b])
	}
	v.tokens = append(v.tokens, token)
	v.classes = append(v.classes, tokenNormal)
	v.appeal = append(v.appeal, appeal)
}

// like sets how readily the model says a byte.
func (v *vocabulary) like(b byte, appeal float32) {
	v.appeal[slices.Index(v.tokens, string(byteLetters()[b]))] = appeal
}

// byteAppeal makes closing marks of JSON likely, so that an answer under a
// schema ends, and digits and stray letters rare.
func byteAppeal(b byte) float32 {
	switch {
	case strings.IndexByte(`"}],.`, b) >= 0:
		return 1.8
	case b == '\n':
		return -2
	case b >= '0' && b <= '9':
		return -5
	case b >= ' ' && b < 0x7f:
		return -3
	}
	return never
}

// byteLetters gives the printable letter that stands for each byte in a
// byte-level vocabulary: printable Latin-1 stands for itself, every other byte
// for the next free letter from U+0100 on.
func byteLetters() [256]rune {
	var letters [256]rune
	free := rune(0x100)
	for b := range letters {
		if (b > ' ' && b < 0x7f) || (b > 0xa0 && b != 0xad) {
			letters[b] = rune(b)
			continue
		}
		letters[b] = free
		free++
	}
	return letters
}
