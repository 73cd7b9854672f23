package backends

import "fmt"

// What a token may take at most, in bytes: of text, and of the reply that carries it.
// Tokenisers have tokens of 128 spaces; an event with the 20 likeliest tokens beside
// each one takes 2 KB.
const (
	textOfToken  = 256
	replyOfToken = 4 << 10
	replyAround  = 128 << 10 // head, usage, comments
)

// MostReply is how long a reply may be, in bytes, before it is cut off.
func (s Sampling) MostReply() int {
	return replyAround + min(s.MaxTokens, MaxCount)*replyOfToken
}

// Overlong says why an answer of so much text and so many tokens (nil: not known)
// cannot have kept to the limit; "": it may have. Few tokens more are forgiven:
// servers count their end marks differently.
func (s Sampling) Overlong(text int, tokens *int) string {
	if s.MaxTokens <= 0 {
		return ""
	}
	switch most := min(s.MaxTokens, MaxCount); {
	case tokens != nil && *tokens > 2*most+64:
		return fmt.Sprintf("the server counts %d tokens in the answer, %d were allowed", *tokens, most)
	case text > (most+16)*textOfToken:
		return fmt.Sprintf("the answer has %d bytes, which are more than %d tokens", text, most)
	}
	return ""
}

// Kept is as much of an overlong text as is kept: what its tokens could have been.
func (s Sampling) Kept(text string) string {
	return text[:min(len(text), (min(s.MaxTokens, MaxCount)+16)*textOfToken)]
}
