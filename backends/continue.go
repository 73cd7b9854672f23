package backends

import "context"

// Continuer is a Backend whose server goes on with a text as it stands, without a chat
// template around it. Nothing of it is timed.
type Continuer interface {
	Continue(ctx context.Context, c Continuation) (Continued, error)
}

// Continuation asks how a text goes on.
type Continuation struct {
	Model    string
	Text     string
	Sampling Sampling
	Options  map[string]any // the server's own, as in a Request
}

// Continued is what a model went on with.
type Continued struct {
	Text   string
	Finish Finish
	Tokens *int // of Text; nil: the server does not say
}

// Tokenizer is a Backend whose server says which tokens a text has.
type Tokenizer interface {
	// Tokens are the text's own: none that mark its beginning or end.
	Tokens(ctx context.Context, model, text string) ([]int, error)
	// Text is what tokens stand for.
	Text(ctx context.Context, model string, tokens []int) (string, error)
}
