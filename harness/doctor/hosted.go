package doctor

import (
	"context"
	"fmt"

	"assay/backends"
	"assay/harness/config"
	"assay/harness/experiment"
	"assay/timing"
)

// hosted looks at a judge behind a hosted API: whether its key is there, and by one
// short request, which costs something, whether it answers.
func (d *examination) hosted(ctx context.Context, j config.Judge) {
	about := "judge " + j.Name
	be, err := experiment.ConnectHosted(j, 0)
	if err != nil {
		d.say(problem, about, err.Error(), "")
		return
	}
	if j.Hosted.Price == nil {
		d.say(note, about, "what it costs is not known", "give price: {currency: USD, input: ..., output: ...}, of a million tokens, and a budget")
	}
	if d.Quick {
		d.say(fine, about, fmt.Sprintf("%s of %s; it was not asked anything", j.Model, j.Hosted.Provider), "")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, probeWithin)
	defer cancel()
	noThink := false
	r, err := be.Generate(ctx, &backends.Request{Messages: []backends.Message{{Role: backends.User, Text: "Answer with the one word yes."}},
		Sampling: j.Sampling, Think: &noThink, Timeouts: j.Timeouts}, timing.NewRecorder(timing.NewClock()))
	if err != nil {
		d.say(problem, about, "a short request failed: "+err.Error(), "")
		return
	}
	said := "a short request was answered"
	if id, err := be.Identify(ctx, j.Model); err == nil {
		said += " by " + id.Model
	}
	if p := j.Hosted.Price; p != nil {
		said += fmt.Sprintf(" for %.6f %s", be.Spent(), p.Currency)
	}
	if r.Usage.PromptTokens == nil || r.Usage.CompletionTokens == nil {
		d.say(warning, about, said+", and its tokens were not told", "each request will count as the most that it can cost")
		return
	}
	d.say(fine, about, said, "")
}
