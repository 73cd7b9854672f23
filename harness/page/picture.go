package page

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/jpeg"
	"regexp"
	"strings"

	"assay/harness/experiment"
	"assay/perturb"
	"assay/results"
	"assay/results/report"
)

// Pictures shows again what a trial was shown. The error says why it cannot.
type Pictures interface {
	Of(ctx context.Context, t results.Trial) ([]report.Picture, error)
	// Prompt is all that a trial said to the model; "": not known.
	Prompt(ctx context.Context, t results.Trial) string
}

const (
	shownSide    = 384 // pixels of a picture's copy on the page
	shownQuality = 90  // of its JPEG
)

// noPictures is why there are none.
type noPictures string

// Of implements Pictures.
func (n noPictures) Of(context.Context, results.Trial) ([]report.Picture, error) {
	return nil, errors.New(string(n))
}

// Prompt implements Pictures.
func (n noPictures) Prompt(context.Context, results.Trial) string { return "" }

// Rendered makes pictures again as a run does, from the data set, and shows them
// where everything that was sent with them has the stored digest.
type Rendered struct{ *experiment.Sent }

// Of implements Pictures.
func (r Rendered) Of(ctx context.Context, t results.Trial) ([]report.Picture, error) {
	images, err := r.Pictures(ctx, nil, t.Key, t.Inputs)
	if err != nil {
		return nil, err
	}
	if len(images) == 0 {
		return nil, errors.New("none was sent")
	}
	var out []report.Picture
	for _, img := range images {
		pic, err := copyOf(img.Bytes)
		if err != nil {
			return nil, err
		}
		pic.Sent += ", " + img.MIME
		out = append(out, pic)
	}
	return out, nil
}

// Prompt implements Pictures. What makes a timed prompt new is left out: it differs in
// all of them. Where what would be sent today has another digest than
// what was sent, it is not known.
func (r Rendered) Prompt(ctx context.Context, t results.Trial) string {
	nonce := regexp.MustCompile(`\b[0-9]{24}\b`)
	reqs, err := r.Requests(ctx, nil, t.Key, t.Inputs)
	if err != nil {
		return ""
	}
	var said []string
	for _, req := range reqs {
		for _, m := range req.Messages {
			said = append(said, nonce.ReplaceAllString(m.Text, ""))
		}
	}
	return strings.Join(said, "\n\n")
}

// copyOf is a small copy of a picture file.
func copyOf(file []byte) (report.Picture, error) {
	src, err := perturb.Decode(file)
	if err != nil {
		return report.Picture{}, err
	}
	small := perturb.Shrink(src, shownSide)
	pic := report.Picture{MIME: "image/jpeg", Sent: fmt.Sprintf("%d x %d pixels", src.Bounds().Dx(), src.Bounds().Dy()),
		Width: small.Bounds().Dx(), Height: small.Bounds().Dy()}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, small, &jpeg.Options{Quality: shownQuality}); err != nil {
		return pic, err
	}
	pic.Bytes = b.Bytes()
	return pic, nil
}

// AtHand finds the pictures of a store's run: where the bench.yaml is the one
// that made it and its data can be read.
func AtHand(ctx context.Context, file string, man results.Manifest) Pictures {
	sent, err := experiment.OpenSent(ctx, file, man)
	if err != nil {
		return noPictures(strings.TrimSuffix(err.Error(), "."))
	}
	return Rendered{sent}
}
