package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"assay/backends"
	"assay/harness/config"
	"assay/harness/dataset"
	"assay/harness/experiment"
	"assay/harness/plan"
	"assay/harness/render"
	"assay/harness/servers"
	"assay/perturb"
	"assay/results"
	"assay/results/store"
	"assay/results/viewer"
)

// mostKept are the trials whose pictures are kept for the next look.
const mostKept = 24

// sender makes again what was sent, as a run does, from the data set.
type sender struct {
	st      *store.Store
	configs []string
	man     results.Manifest

	mu      sync.Mutex // everything below: pictures are made one after the other
	opened  bool
	exp     *experiment.Bench
	servers *servers.Servers
	items   map[string]map[string]*dataset.Item // by study and ID
	why     error                               // why there is no bench
	kept    map[results.Key]*viewer.Sent
	order   []results.Key
}

// Of implements viewer.Sender.
func (s *sender) Of(ctx context.Context, t results.Trial) (*viewer.Sent, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if out, ok := s.kept[t.Key]; ok {
		return out, nil
	}
	if !s.opened {
		s.why, s.opened = s.open(ctx), true
	}
	if s.why != nil {
		return nil, s.why
	}
	out, err := s.make(ctx, t)
	if err != nil {
		return nil, err
	}
	if len(s.order) >= mostKept {
		delete(s.kept, s.order[0])
		s.order = s.order[1:]
	}
	s.kept[t.Key], s.order = out, append(s.order, t.Key)
	return out, nil
}

// open reads in the run's bench.yaml and its data.
func (s *sender) open(ctx context.Context) error {
	var cfg *config.Config
	for _, file := range s.configs {
		if c, err := config.Read(file, experiment.Known()); err == nil && results.DigestOf(c.Text) == s.man.Digest {
			cfg = c
		}
	}
	if cfg == nil {
		return fmt.Errorf("%s is not the bench.yaml of this run; name that with -c", strings.Join(s.configs, ", "))
	}
	b, err := experiment.Assemble(ctx, cfg)
	if err != nil {
		return err
	}
	s.exp, s.servers = b, servers.NewServers(experiment.Setup(cfg))
	s.servers.Dial = experiment.HangUp // nothing is ever sent
	s.items = map[string]map[string]*dataset.Item{}
	for _, sc := range cfg.Studies {
		of := map[string]*dataset.Item{}
		set := b.Sets[sc.Dataset]
		for i := range set.Items {
			of[set.Items[i].ID] = &set.Items[i]
		}
		s.items[sc.Name] = of
	}
	return nil
}

// planned is the trial as it would be planned today.
func (s *sender) planned(k results.Key) (plan.Trial, error) {
	t := plan.Trial{Key: k, Item: s.items[k.Study][k.Item]}
	if t.Item == nil {
		return t, fmt.Errorf("the data set of study %s has no item %s any more", k.Study, k.Item)
	}
	st := s.exp.Studies[k.Study]
	i := slices.IndexFunc(s.exp.Config.Models, func(m backends.Model) bool { return m.Name == k.Model })
	if i < 0 {
		return t, fmt.Errorf("%s has no model %s any more", s.exp.Config.File, k.Model)
	}
	for i := range st.Arms {
		if st.Arms[i].Name == k.Arm {
			t.Arm = &st.Arms[i]
		}
	}
	if t.Arm == nil {
		return t, fmt.Errorf("study %s has no arm %s any more", k.Study, k.Arm)
	}
	base := perturb.Baseline()
	list := []*perturb.Condition{&base}
	if st.Conditions != nil {
		list, _ = st.Conditions(s.exp.Config.Seed, *t.Item)
	}
	for i := range list {
		if list[i].Name == k.Condition {
			t.Condition = list[i]
		}
	}
	if t.Condition == nil {
		return t, fmt.Errorf("item %s has no condition %s any more", k.Item, k.Condition)
	}
	return t, nil
}

func (s *sender) make(ctx context.Context, t results.Trial) (*viewer.Sent, error) {
	p, err := s.planned(t.Key)
	if err != nil {
		return nil, err
	}
	seen := render.Seen(*p.Item, *p.Condition)
	out := &viewer.Sent{Question: seen.Question, Gold: seen.Gold(), Target: p.Condition.Target}
	for _, o := range seen.Options {
		switch {
		case o.Label == "":
			out.Options = append(out.Options, o.Text)
		case o.Label == seen.Gold():
			out.Gold = o.Label + ". " + o.Text
			fallthrough
		default:
			out.Options = append(out.Options, o.Label+". "+o.Text)
		}
	}
	end, err := experiment.Connect(s.exp.Config, t.Key.Model, s.servers)
	if err != nil {
		out.Why = err.Error()
		return out, nil
	}
	turns, inputs, err := s.exp.Turns(ctx, p, end.Backend, experiment.Said(ctx, s.st))
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		out.Why = err.Error()
		return out, nil
	case inputs != t.Inputs || t.Inputs == "":
		out.Why = errors.New("what would be sent today has another digest than what was sent").Error()
		return out, nil
	}
	for i := range turns {
		req, body := turns[i].Request()
		out.Turns = append(out.Turns, viewer.SentTurn{Prompt: turns[i].Prompt, Nonce: strings.TrimSpace(string(turns[i].Nonce)), Curl: turns[i].Curl, Body: body})
		if i > 0 {
			continue // later turns repeat the first one's
		}
		last := len(req.Messages) - 1
		for _, m := range slices.Concat(req.Messages[last:], req.Messages[:last]) { // those of examples behind the question's
			for _, img := range m.Images {
				_, w, h, err := perturb.Config(img.Bytes)
				if err != nil {
					return nil, err
				}
				out.Pictures = append(out.Pictures, viewer.Picture{MIME: img.MIME, Bytes: img.Bytes, Width: w, Height: h})
			}
		}
	}
	return out, nil
}
