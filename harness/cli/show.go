package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"assay/backends"
	"assay/harness/bench"
	"assay/harness/config"
	"assay/harness/dryrun"
	"assay/harness/plan"
	"assay/results"
	"assay/results/sqlite"
	"assay/results/text"
)

func (s streams) showCommand() *cli.Command {
	return &cli.Command{
		Name:        "show",
		Usage:       "print the exact prompt, picture and curl of one trial, and what is stored of it",
		Description: "Nothing is sent. Without --item, lists the items of the plan.",
		Flags: []cli.Flag{configFlag(), jsonFlag(),
			&cli.StringFlag{Name: "study", Usage: "default: the first"},
			&cli.StringFlag{Name: "item"},
			&cli.StringFlag{Name: "arm", Usage: "default: the study's last"},
			&cli.StringFlag{Name: "condition", Value: "baseline"},
			&cli.StringFlag{Name: "model", Usage: "default: the first"},
			&cli.IntFlag{Name: "repeat", Usage: "from 0", DefaultText: "0"},
			&cli.StringFlag{Name: "out", Usage: "write pictures and request bodies to this `FOLDER`"},
		},
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			b, err := load(c)
			if err != nil {
				return err
			}
			p, err := planned(b, plan.Filter{})
			if err != nil {
				return err
			}
			if c.String("item") == "" {
				return s.listItems(p, c.Bool("json"))
			}
			t, err := pick(p, c)
			if err != nil {
				return err
			}
			return s.show(c, b, t)
		},
	}
}

func (s streams) listItems(p *plan.Plan, asJSON bool) error {
	type row struct {
		Study    string `json:"study"`
		Item     string `json:"item"`
		Type     string `json:"type"`
		Task     string `json:"task,omitempty"`
		Question string `json:"question"`
	}
	var rows []row
	for _, sel := range p.Studies {
		for _, it := range sel.Items {
			rows = append(rows, row{sel.Study, it.ID, it.Type, it.Task, it.Question})
		}
	}
	if asJSON {
		return s.json(rows)
	}
	for _, r := range rows {
		first, _, _ := strings.Cut(r.Question, "\n")
		fmt.Fprintf(s.out, "%s\t%s\t%s\t%s\t%s\n", text.Visible(r.Study), text.Visible(r.Item), text.Visible(r.Type), text.Visible(r.Task), text.Visible(first))
	}
	return nil
}

// pick finds the trial that the flags name.
func pick(p *plan.Plan, c *cli.Context) (plan.Trial, error) {
	want := results.Key{Study: c.String("study"), Model: c.String("model"), Item: c.String("item"), Arm: c.String("arm"), Condition: c.String("condition"), Repeat: c.Int("repeat")}
	if len(p.Studies) == 0 || len(p.Blocks) == 0 {
		return plan.Trial{}, usage("show: the plan has no trials")
	}
	if want.Study == "" {
		want.Study = p.Studies[0].Study
	}
	if want.Model == "" {
		want.Model = p.Blocks[0].Model
	}
	for _, sel := range p.Studies {
		if sel.Study == want.Study && want.Arm == "" && len(sel.Arms) > 0 {
			want.Arm = sel.Arms[len(sel.Arms)-1]
		}
	}
	values := map[string]map[string]bool{"study": {}, "model": {}, "item": {}, "arm": {}, "condition": {}}
	for _, block := range p.Blocks {
		for _, t := range block.Trials {
			if t.Key == want {
				return t, nil
			}
			k := t.Key
			for field, v := range map[string]string{"study": k.Study, "model": k.Model, "item": k.Item, "arm": k.Arm, "condition": k.Condition} {
				values[field][v] = true
			}
		}
	}
	for _, f := range []struct{ field, got string }{{"study", want.Study}, {"model", want.Model}, {"item", want.Item}, {"arm", want.Arm}, {"condition", want.Condition}} {
		if !values[f.field][f.got] {
			var names []string
			for v := range values[f.field] {
				names = append(names, v)
			}
			return plan.Trial{}, usage("show: no %s %q in the plan%s", f.field, f.got, didYouMean(f.got, names))
		}
	}
	return plan.Trial{}, usage("show: the plan has no trial of study %s, model %s, item %s, arm %s, condition %s, repeat %d; assay plan lists what there is",
		want.Study, want.Model, want.Item, want.Arm, want.Condition, want.Repeat)
}

// shown is what assay show prints of a trial.
type shown struct {
	Key      results.Key        `json:"key"`
	Server   string             `json:"server"`
	Turns    []shownTurn        `json:"turns"`
	Stored   *results.Trial     `json:"stored,omitempty"`
	Verdicts []results.Judgment `json:"judgments,omitempty"`
}

type shownTurn struct {
	Prompt string   `json:"prompt"`
	Images []string `json:"images,omitempty"` // type and size, or the file written
	// Nonce of the first attempt: the request holds it, the prompt and the images
	// shown here do not.
	Nonce   backends.Nonce `json:"nonce,omitempty"`
	Body    string         `json:"body,omitempty"` // file of the request body
	Curl    string         `json:"curl"`
	request *backends.Request
	bytes   []byte
	written bool
}

func (s streams) show(c *cli.Context, b *bench.Bench, t plan.Trial) error {
	ctx := c.Context
	reqs, _, err := dryrun.Of(ctx, b, t)
	if err != nil {
		return err
	}
	out := shown{Key: t.Key, Server: serverURL(b, t.Key.Model), Turns: turnsOf(reqs)}
	if err := requests(ctx, b, t, out.Turns); err != nil {
		return err
	}
	for i := range out.Turns {
		if err := out.Turns[i].write(c.String("out"), i, out.Server, backendOf(b, t.Key.Model)); err != nil {
			return environment(err)
		}
	}
	if _, err := os.Stat(b.Config.Store); err == nil {
		if err := out.readStore(ctx, b.Config.Store); err != nil {
			return environment(err)
		}
	}
	if c.Bool("json") {
		return s.json(out)
	}
	var lines strings.Builder
	out.print(&lines)
	// Models and data sets are not trusted: a terminal obeys some characters.
	_, err = io.WriteString(s.out, text.VisibleLines(lines.String()))
	return err
}

// turnsOf are the turns of a trial as they are shown.
func turnsOf(reqs []*backends.Request) []shownTurn {
	var turns []shownTurn
	for _, req := range reqs {
		turn := shownTurn{request: req, Nonce: req.Cold, Prompt: req.Messages[len(req.Messages)-1].Text}
		for _, m := range req.Messages {
			for _, img := range m.Images {
				turn.Images = append(turn.Images, fmt.Sprintf("%s, %d bytes", img.MIME, len(img.Bytes)))
			}
		}
		turns = append(turns, turn)
	}
	return turns
}

// requests fills in the exact bodies, by letting the adapter speak to a
// connection that hangs up.
func requests(ctx context.Context, b *bench.Bench, t plan.Trial, turns []shownTurn) error {
	srv := newServers(b.Config)
	srv.dial = dryrun.HangUp
	defer srv.close()
	end, err := endpoint(b.Config, t.Key.Model, srv)
	if err != nil {
		return err
	}
	for i := range turns {
		if turns[i].bytes, err = dryrun.Body(ctx, end.Backend, turns[i].request); err != nil {
			return fmt.Errorf("the request body of turn %d could not be made: %w", i+1, err)
		}
	}
	return nil
}

// backendOf is the backend of a model; bench.yaml was checked, so it is there.
func backendOf(b *bench.Bench, model string) config.Backend {
	for _, m := range b.Config.Models {
		for _, be := range b.Config.Backends {
			if m.Name == model && be.Name == m.Backend {
				return be
			}
		}
	}
	panic("cli: internal error: no model " + model)
}

func serverURL(b *bench.Bench, model string) string {
	be := backendOf(b, model)
	if be.Kind == "phantom" {
		return "http://127.0.0.1:PORT" // of assay phantom serve
	}
	return strings.TrimRight(be.URL, "/")
}

// write puts pictures and body into dir, or describes them when dir is empty.
func (t *shownTurn) write(dir string, turn int, url string, be config.Backend) error {
	t.Body = fmt.Sprintf("request-%d.json", turn+1)
	if dir != "" {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		t.Body, t.written = filepath.Join(dir, t.Body), true
		if err := os.WriteFile(t.Body, t.bytes, 0o600); err != nil {
			return err
		}
		n := 0
		for _, m := range t.request.Messages {
			for _, img := range m.Images {
				ext := strings.TrimPrefix(img.MIME, "image/")
				name := filepath.Join(dir, fmt.Sprintf("turn-%d-image-%d.%s", turn+1, n+1, ext))
				if err := os.WriteFile(name, img.Bytes, 0o600); err != nil {
					return err
				}
				t.Images[n] = name
				n++
			}
		}
	}
	t.Curl = dryrun.Curl(url, t.Body, be)
	return nil
}

// proof is what a cache state rests on, in words.
func proof(c results.Cache) string {
	s := ""
	if c.Field != "" {
		s = fmt.Sprintf(" (%s: %s)", c.Field, c.Value)
	}
	if c.Reason != "" {
		s += ": " + c.Reason
	}
	return s
}

func (o *shown) readStore(ctx context.Context, path string) error {
	st, err := sqlite.OpenReader(ctx, path)
	if err != nil {
		return err
	}
	defer st.Close()
	t, ok, err := st.Trial(ctx, o.Key)
	if err != nil || !ok {
		return err
	}
	o.Stored = &t
	for j, err := range st.Judgments(ctx, o.Key.Study) {
		if err != nil {
			return err
		}
		if j.Key == o.Key {
			o.Verdicts = append(o.Verdicts, j.Judgment)
		}
	}
	return nil
}

func (o *shown) print(w *strings.Builder) {
	k := o.Key
	fmt.Fprintf(w, "study %s, model %s, item %s, arm %s, condition %s\n", k.Study, k.Model, k.Item, k.Arm, k.Condition)
	for i, t := range o.Turns {
		fmt.Fprintf(w, "\n--- turn %d: prompt\n%s\n", i+1, t.Prompt)
		for _, img := range t.Images {
			fmt.Fprintf(w, "--- image: %s\n", img)
		}
		if t.Nonce != "" {
			fmt.Fprintf(w, "--- nonce of the first attempt, to keep the server's caches cold: %s\n", t.Nonce)
		}
		if t.written {
			fmt.Fprintf(w, "--- request\n%s\n", t.Curl)
		} else {
			fmt.Fprintf(w, "--- request (--out FOLDER writes its body and pictures)\n%s\n", t.Curl)
		}
	}
	if o.Stored == nil {
		fmt.Fprintln(w, "\nnot in the store yet")
		return
	}
	for i, a := range o.Stored.Attempts {
		fmt.Fprintf(w, "\n--- attempt %d, %s", i+1, a.Started.Format(time.RFC3339))
		for _, f := range a.Flags {
			fmt.Fprintf(w, ", %s", f)
		}
		fmt.Fprintln(w)
		if c := a.Cache; c != nil && c.State != "" {
			fmt.Fprintf(w, "server caches: %s%s\n", c.State, proof(*c))
		}
		if a.Failure != nil {
			fmt.Fprintf(w, "failed: %s: %s\n", a.Failure.Kind, a.Failure.Message)
			continue
		}
		for _, turn := range a.Turns {
			if d, ok := turn.Trace.TTFT(); ok {
				fmt.Fprintf(w, "first content after %s", d)
			}
			if d, ok := turn.Trace.Latency(); ok {
				fmt.Fprintf(w, ", last after %s (%s stamps)", d, turn.Trace.Stamps)
			}
			fmt.Fprintln(w)
		}
		if a.Output.Reasoning != "" {
			fmt.Fprintf(w, "reasoning channel:\n%s\n", a.Output.Reasoning)
		}
		fmt.Fprintln(w, a.Output.Answer)
	}
	for _, j := range o.Verdicts {
		fmt.Fprintf(w, "judgment: %s by %s: %s", j.Rubric, j.Judge, j.Status)
		if j.Verdict != nil {
			fmt.Fprintf(w, " %s", j.Verdict)
		}
		if j.Detail != "" {
			fmt.Fprintf(w, " (%s)", j.Detail)
		}
		fmt.Fprintln(w)
	}
}
