package servers

import (
	"bytes"
	"context"
	"errors"
	"image"
	_ "image/jpeg" // sizes of what is sent
	"image/png"

	"assay/backends"
	"assay/timing"
)

// Backend is the adapter of a managed server.
type Backend struct {
	backends.Backend
	Server *server
}

var _ backends.Backend = (*Backend)(nil)

func (b *Backend) up(ctx context.Context, model string) (restarted bool, err error) {
	return b.Server.Up(ctx, func(ctx context.Context) error {
		_, err := b.Backend.Identify(ctx, model)
		return err
	})
}

// Identify starts the server where it does not run.
func (b *Backend) Identify(ctx context.Context, model string) (backends.Identity, error) {
	if _, err := b.up(ctx, model); err != nil {
		return backends.Identity{}, err
	}
	return b.Backend.Identify(ctx, model)
}

// Sees asks where the backend can ask.
func (b *Backend) Sees(ctx context.Context, model string) (*bool, string, error) {
	if s, ok := b.Backend.(backends.Seer); ok {
		return s.Sees(ctx, model)
	}
	return nil, "", nil
}

// Limits asks where the backend can ask.
func (b *Backend) Limits(ctx context.Context, model string, options map[string]any) (string, error) {
	if l, ok := b.Backend.(backends.Limiter); ok {
		return l.Limits(ctx, model, options)
	}
	return "", nil
}

// Generate starts the server where it does not run, outside of any clock. A
// server that died during the request is named in the error.
func (b *Backend) Generate(ctx context.Context, req *backends.Request, rec *timing.Recorder) (*backends.Response, error) {
	restarted, err := b.up(ctx, req.Model)
	if err != nil {
		return nil, err
	}
	if restarted {
		b.warm(ctx, req)
	}
	resp, err := b.Backend.Generate(ctx, req, rec)
	var e *backends.Error
	if errors.As(err, &e) && e.Kind.CanHeal() && ctx.Err() == nil {
		if how, died := b.Server.death(); died {
			told := *e
			told.Err, told.Message = e, "the server died: "+how
			return nil, &told
		}
	}
	return resp, err
}

// warm has a new process do its first request before a timed one: other words, and
// grey pictures of the same sizes, without its nonce, by which a server may know
// pictures. That it fails will show in the next one.
func (b *Backend) warm(ctx context.Context, like *backends.Request) {
	m := backends.Message{Role: backends.User, Text: "This request only warms the server up. Reply with one word."}
	for _, talk := range like.Messages {
		for _, img := range talk.Images {
			size, _, err := image.DecodeConfig(bytes.NewReader(img.Bytes))
			if err != nil {
				continue
			}
			grey := image.NewGray(image.Rect(0, 0, size.Width, size.Height))
			for i := range grey.Pix {
				grey.Pix[i] = uint8(i)
			}
			var file bytes.Buffer
			if png.Encode(&file, grey) == nil {
				m.Images = append(m.Images, backends.Image{Bytes: file.Bytes(), MIME: "image/png"})
			}
		}
	}
	req := *like
	req.Messages, req.Schema, req.Prove, req.Cold = []backends.Message{m}, nil, false, ""
	req.Sampling.MaxTokens = min(req.Sampling.MaxTokens, 8)
	_, _ = b.Backend.Generate(ctx, &req, timing.NewRecorder(timing.NewClock()))
}
