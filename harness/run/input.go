package run

import (
	"context"
	"encoding/json"
	"fmt"
	"image"
	"slices"

	"assay/backends"
	"assay/harness/dataset"
	"assay/harness/plan"
	"assay/harness/render"
	"assay/perturb"
	"assay/results"
)

// input is what a trial sends, ready to be sent.
type input struct {
	Before  []backends.Message // examples: a question with its pictures, and its answer
	Images  []backends.Image   // of the question
	Sizes   []image.Point      // of all pictures, those of examples first
	Prompts []string           // one per turn
	Digest  results.Digest
}

// First is all that the first turn holds as one message: as many words and pictures.
func (in input) First() backends.Message {
	out := backends.Message{Role: backends.User}
	for _, m := range in.Before {
		out.Text += m.Text + "\n"
		out.Images = append(out.Images, m.Images...)
	}
	out.Text += in.Prompts[0]
	out.Images = append(out.Images, in.Images...)
	return out
}

// inputError is a picture or prompt that cannot be made.
type inputError struct{ error }

func (e inputError) Unwrap() error { return e.error }

// Prepare makes what a trial sends, as Run does: outside any clock. said gives the
// answers that enter its prompts; its errors are returned as they are.
func Prepare(ctx context.Context, t plan.Trial, set Settings, end Endpoint, seed uint64, said func(results.Key) (string, error)) (input, error) {
	return prepare(ctx, t, set, end, seed, said, render.New())
}

// prepare is Prepare with the pictures of a run. The error is an inputError,
// or ends the run.
func prepare(ctx context.Context, t plan.Trial, set Settings, end Endpoint, seed uint64, said func(results.Key) (string, error), pictures *render.Renderer) (input, error) {
	var in input
	draw := func(what string, it *dataset.Item, c perturb.Condition, how render.Frame) ([]backends.Image, error) {
		how.WebP = end.ReadsWebP
		pics, sizes, err := pictures.Item(ctx, it, c, how, seed)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx) // waiting for room ended; the picture is as good as ever
		}
		if err != nil {
			return nil, inputError{fmt.Errorf("%s%w", what, err)}
		}
		in.Sizes = append(in.Sizes, sizes...)
		return pics, nil
	}
	examples, err := set.Examples.Of(t.Item, t.Condition)
	if err != nil {
		return in, inputError{err}
	}
	for _, it := range examples {
		question, answer, err := t.Arm.Shown(it)
		if err != nil {
			return in, inputError{err}
		}
		pics, err := draw("example "+it.ID+": ", it, perturb.Baseline(), set.Examples.Frame)
		if err != nil {
			return in, err
		}
		in.Before = append(in.Before, backends.Message{Role: backends.User, Text: question, Images: pics}, backends.Message{Role: backends.Assistant, Text: answer})
	}
	if in.Images, err = draw("", t.Item, *t.Condition, set.Frame); err != nil {
		return in, err
	}
	outputs := map[string]string{}
	for _, k := range t.Needs() {
		answer, err := said(k)
		if err != nil {
			return in, err
		}
		outputs[k.Arm] = answer
	}
	if in.Prompts, err = t.Arm.Texts(t.Item, t.Condition, outputs); err != nil {
		return in, inputError{err}
	}
	in.Digest, err = digest(in, set.Sampling, end)
	return in, err
}

// Request is that of the turn that follows the answers said so far, from turn 0: the
// pictures with the first turn, examples before it, and what the model said before each
// further one.
// nonce keeps the server's caches cold; "": they are not.
func (in input) Request(set Settings, end Endpoint, said []string, nonce backends.Nonce) *backends.Request {
	talk := slices.Clone(in.Before)
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
//	per example in order: per image its MIME type, its bytes; its question, its answer
//
// where the numbers of images are in the JSON; without examples, nothing is there of them. The model is not in it: the key
// and the manifest's identity name that. A nonce is never in it.
func digest(in input, s backends.Sampling, end Endpoint) (results.Digest, error) {
	var shown []int
	for i := 0; i < len(in.Before); i += 2 {
		shown = append(shown, len(in.Before[i].Images))
	}
	head, err := json.Marshal(struct {
		Sampling backends.Sampling `json:"sampling"`
		Think    *bool             `json:"think"`
		Options  map[string]any    `json:"options"`
		Images   int               `json:"images"`
		Shots    []int             `json:"shots,omitempty"` // images of each example
	}{s, end.Think, end.Options, len(in.Images), shown})
	if err != nil {
		return "", fmt.Errorf("run: server options of model %s are not JSON: %w", end.Model, err)
	}
	parts := [][]byte{[]byte("assay inputs 1"), head}
	for _, img := range in.Images {
		parts = append(parts, []byte(img.MIME), img.Bytes)
	}
	for _, p := range in.Prompts {
		parts = append(parts, []byte(p))
	}
	for _, m := range in.Before {
		for _, img := range m.Images {
			parts = append(parts, []byte(img.MIME), img.Bytes)
		}
		parts = append(parts, []byte(m.Text))
	}
	return results.DigestOf(parts...), nil
}
