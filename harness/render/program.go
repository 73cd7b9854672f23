package render

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"os"
	"os/exec"
	"strings"
	"time"

	"assay/backends"
	"assay/harness/dataset"
	"assay/perturb"
)

// Limits of what a program of the user's writes.
const (
	mostOutput = 256 << 20 // bytes of a picture
	keptErrors = 2 << 10   // bytes of what it says of itself
	// leavesWithin is how long what it started may hold its output when it has ended.
	leavesWithin = time.Second
)

// byProgram is what is sent of a picture that a program of the user's changes. The first picture
// of each op and its parameters is made twice: what differs from call to call is refused.
func (r *Renderer) byProgram(ctx context.Context, op perturb.Op, load func() (image.Image, error), seed uint64) (backends.Image, error) {
	img, err := load()
	if err != nil {
		return backends.Image{}, err
	}
	shown, err := perturb.EncodePNG(img)
	if err != nil {
		return backends.Image{}, err
	}
	flags := op.Flags(img.Bounds().Dx(), img.Bounds().Dy(), seed)
	made, err := call(ctx, op, shown, flags)
	if err != nil {
		return backends.Image{}, err
	}
	if once := fmt.Sprint(op.Program, op.Params); !r.repeats(once) {
		again, err := call(ctx, op, shown, flags)
		if err != nil {
			return backends.Image{}, err
		}
		if !bytes.Equal(made, again) {
			return backends.Image{}, fmt.Errorf("op %s: its output differs from call to call on the same picture with the same flags (%s); draw all that is random from --seed", op.Name, strings.Join(flags, " "))
		}
		r.mu.Lock()
		r.repeat[once] = true
		r.mu.Unlock()
	}
	return backends.Image{Bytes: made, MIME: "image/png"}, nil
}

// repeats says whether an op is known to do the same again.
func (r *Renderer) repeats(once string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.repeat[once]
}

// call has an op's program change a PNG. The picture is encoded again, so that the same pixels
// are the same bytes.
func call(ctx context.Context, op perturb.Op, png []byte, flags []string) ([]byte, error) {
	out, bad, err := output(ctx, op, png, flags)
	if err != nil {
		return nil, err
	}
	format, _, _, err := perturb.Config(out)
	if err == nil && format != "png" {
		err = fmt.Errorf("it is a %s file", format)
	}
	var img image.Image
	if err == nil {
		img, err = perturb.Decode(out)
	}
	if err != nil {
		return nil, bad("expected a PNG on its standard output: %w", err)
	}
	return perturb.EncodePNG(img)
}

// Reword is what an op's program makes of the questions of a data set: a file of texts
// (dataset.Word) of JSON lines with id, question, options and, where there are no options, answer.
// It is called twice; what differs from call to call is refused.
func Reword(ctx context.Context, op perturb.Op, d *dataset.Dataset, seed uint64) ([]byte, error) {
	var in bytes.Buffer
	for _, it := range d.Items {
		line := struct {
			ID       string   `json:"id"`
			Question string   `json:"question"`
			Options  []string `json:"options,omitempty"`
			Answer   []string `json:"answer,omitempty"`
		}{ID: it.ID, Question: it.Question}
		for _, o := range it.Options {
			line.Options = append(line.Options, o.Text)
		}
		if line.Options == nil {
			line.Answer = it.Golds()
		}
		if err := json.NewEncoder(&in).Encode(line); err != nil {
			return nil, err
		}
	}
	var made [2][]byte
	for i := range made {
		var err error
		if made[i], _, err = output(ctx, op, in.Bytes(), op.Flags(0, 0, seed)); err != nil {
			return nil, err
		}
	}
	if !bytes.Equal(made[0], made[1]) {
		return nil, fmt.Errorf("%s: its output differs from call to call on the same questions; draw all that is random from --seed, or write its texts to a file once", op.Name)
	}
	return made[0], nil
}

// output is what an op's program makes of its input; bad says what is wrong with it.
func output(ctx context.Context, op perturb.Op, in []byte, flags []string) (made []byte, bad func(format string, args ...any) error, err error) {
	p := op.Program
	within, stop := context.WithTimeout(ctx, p.Limit)
	defer stop()
	cmd := exec.CommandContext(within, p.Path, append(p.Command[1:len(p.Command):len(p.Command)], flags...)...)
	group(cmd)
	cmd.WaitDelay = leavesWithin
	out, said := &limited{most: mostOutput}, &ending{most: keptErrors}
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = p.Dir, bytes.NewReader(in), out, said
	for _, name := range []string{"PATH", "HOME", "LANG"} { // no more: it needs no keys of servers
		if v, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	err = cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		_ = cmd.Cancel() // what it left behind
	}
	bad = func(format string, args ...any) error {
		err := fmt.Errorf("op %s (%s): "+format, append([]any{op.Name, strings.Join(p.Command, " ")}, args...)...)
		if tail := strings.TrimSpace(strings.ToValidUTF8(string(said.kept), "?")); tail != "" {
			err = fmt.Errorf("%w; it wrote to standard error: %s", err, tail)
		}
		return err
	}
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case within.Err() != nil:
		err = bad("it had not ended after %v; give it more with time_limit", p.Limit)
	case out.over:
		err = bad("it wrote more than %d MB", mostOutput>>20)
	case err != nil:
		err = bad("%w", err)
	}
	return out.Bytes(), bad, err
}

// limited keeps what is written, up to so many bytes.
type limited struct {
	bytes.Buffer
	most int
	over bool
}

func (l *limited) Write(b []byte) (int, error) {
	if l.over = l.over || l.Len()+len(b) > l.most; l.over {
		return 0, errors.New("too much output")
	}
	return l.Buffer.Write(b)
}

// ending keeps the last bytes of what is written.
type ending struct {
	kept []byte
	most int
}

func (e *ending) Write(b []byte) (int, error) {
	e.kept = append(e.kept, b...)
	e.kept = e.kept[max(0, len(e.kept)-e.most):]
	return len(b), nil
}
