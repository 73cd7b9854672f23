package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"image"
	"strings"

	"assay/backends"
	"assay/harness/plan"
	"assay/harness/render"
	"assay/harness/study"
	"assay/perturb"
	"assay/results"
)

// Input is what a trial sends, ready to be sent.
type Input struct {
	Images  []backends.Image
	Sizes   []image.Point // of the images
	Prompts []string      // one per turn
	Digest  results.Digest
}

// inputError is a picture or prompt that cannot be made.
type inputError struct{ error }

func (e inputError) Unwrap() error { return e.error }

// Prepare makes what a trial sends, as Run does: outside any clock. said gives the
// answers that enter its prompts; its errors are returned as they are.
func Prepare(ctx context.Context, t plan.Trial, set Settings, end Endpoint, seed uint64, said func(results.Key) (string, error)) (Input, error) {
	return prepare(ctx, t, set, end, seed, said, render.New())
}

// prepare is Prepare with the pictures of a run. The error is an inputError,
// or ends the run.
func prepare(ctx context.Context, t plan.Trial, set Settings, end Endpoint, seed uint64, said func(results.Key) (string, error), pictures *render.Renderer) (Input, error) {
	var in Input
	sides, err := t.Item.Sides(set.MaxSide, set.MaxPixels)
	if err != nil {
		return in, inputError{err}
	}
	for _, i := range t.Condition.Shown(len(t.Item.Images), render.Seed(seed, t.Key.Item, 0)) {
		img := t.Item.Images[i]
		data, err := img.Load()
		if err != nil {
			return in, inputError{fmt.Errorf("load image %d (%s): %w", i+1, img.Name, err)}
		}
		pic, size, err := pictures.Picture(ctx, data, t.Condition.On(i),
			perturb.Picture{MaxSide: sides[i], WebP: end.ReadsWebP, Metadata: set.Metadata}, render.Seed(seed, t.Key.Item, i))
		if ctx.Err() != nil {
			return in, context.Cause(ctx) // waiting for room ended; the picture is as good as ever
		}
		if err != nil {
			return in, inputError{fmt.Errorf("image %d (%s): %w", i+1, img.Name, err)}
		}
		in.Images, in.Sizes = append(in.Images, pic), append(in.Sizes, size)
	}
	outputs := map[string]string{}
	for _, k := range t.Needs() {
		answer, err := said(k)
		if err != nil {
			return in, err
		}
		outputs[k.Arm] = answer
	}
	if in.Prompts, err = Texts(t, outputs); err != nil {
		return in, inputError{err}
	}
	in.Digest, err = digest(in, set.Sampling, end)
	return in, err
}

// Texts are what a trial says, one for each turn, where outputs are the answers of the
// arms that it needs.
func Texts(t plan.Trial, outputs map[string]string) ([]string, error) {
	p := study.Prompt{Question: t.Item.Question, Type: t.Item.Type, Options: t.Item.Options, Outputs: outputs, Cue: t.Condition.Cue,
		Images: len(t.Condition.Shown(len(t.Item.Images), 0))}
	if t.Arm.Show != nil {
		p.Shown = t.Arm.Show(*t.Item, *t.Condition, outputs)
	}
	if c := t.Item.Case; c != nil {
		p.History = c.History
	}
	var texts []string
	for i, tmpl := range t.Arm.Turns {
		var text strings.Builder
		if err := tmpl.Execute(&text, p); err != nil {
			return nil, fmt.Errorf("prompt of arm %s, turn %d: %w", t.Arm.Name, i+1, err)
		}
		texts = append(texts, text.String())
	}
	return texts, nil
}

// Request is that of the turn that follows the answers said so far, from turn 0: the
// pictures with the first turn, and what the model said before each further one.
// nonce keeps the server's caches cold; "": they are not.
func (in Input) Request(set Settings, end Endpoint, said []string, nonce backends.Nonce) *backends.Request {
	var talk []backends.Message
	for i, prompt := range in.Prompts[:len(said)+1] {
		m := backends.Message{Role: backends.User, Text: prompt}
		if i == 0 {
			m.Images = in.Images
		}
		talk = append(talk, m)
		if i < len(said) {
			talk = append(talk, backends.Message{Role: backends.Assistant, Text: said[i]})
		}
	}
	req := request(talk, set, end)
	req.Prove, req.Cold = set.Timed, nonce
	return req
}

func request(talk []backends.Message, set Settings, end Endpoint) *backends.Request {
	return &backends.Request{Model: end.Model, Messages: talk, Sampling: set.Sampling,
		Think: end.Think, Timeouts: set.Timeouts, Options: end.Options}
}

// digest is Trial.Inputs: results.DigestOf the parts
//
//	"assay inputs 1"
//	{"sampling":...,"think":...,"options":...} as JSON, keys of options sorted
//	per image in order: its MIME type, its bytes
//	per turn in order: its prompt
//
// where the number of images is in the JSON. The model is not in it: the key
// and the manifest's identity name that. A nonce is never in it.
func digest(in Input, s backends.Sampling, end Endpoint) (results.Digest, error) {
	head, err := json.Marshal(struct {
		Sampling backends.Sampling `json:"sampling"`
		Think    *bool             `json:"think"`
		Options  map[string]any    `json:"options"`
		Images   int               `json:"images"`
	}{s, end.Think, end.Options, len(in.Images)})
	if err != nil {
		return "", fmt.Errorf("runner: server options of model %s are not JSON: %w", end.Model, err)
	}
	parts := [][]byte{[]byte("assay inputs 1"), head}
	for _, img := range in.Images {
		parts = append(parts, []byte(img.MIME), img.Bytes)
	}
	for _, p := range in.Prompts {
		parts = append(parts, []byte(p))
	}
	return results.DigestOf(parts...), nil
}
