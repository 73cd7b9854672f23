package score

import (
	"slices"
	"time"

	"assay/results"
	"assay/timing"
)

// Names of the scores that trials of every study have.
const (
	Answered     = "answered"
	failureKind  = "failure"
	ttft         = "ttft_s"
	Latency      = "latency_s"
	serverTotal  = "server_s"
	Tokens       = "tokens"
	PromptTokens = "prompt_tokens"
	Energy       = "energy_j"
	energyNet    = "energy_net_j"
)

// Failure is why a trial without an answer has no score.
const Failure = "the trial failed"

// Common documents the scores that trials of every study have.
func Common() []Name {
	const times, energy = "metrics.md section 4", "metrics.md section 4"
	return []Name{
		{Name: Answered, Unit: "1", Better: Higher, Source: "metrics.md section 0", Help: "1: there is an answer; 0: the trial failed"},
		{Name: failureKind, Better: None, Source: "metrics.md section 0", Help: "kind of the failure"},
		{Name: ttft, Unit: "s", Better: Lower, Source: times, Help: "time to first token: first content - start, summed over turns; of times that count"},
		{Name: Latency, Unit: "s", Better: Lower, Source: times, Help: "T: last content - start, summed over turns; of times that count"},
		{Name: serverTotal, Unit: "s", Better: Lower, Source: times, Help: "as the server timed itself; of times that count"},
		{Name: Tokens, Unit: "tokens", Better: None, Source: times, Help: "completion tokens as the server counts them"},
		{Name: PromptTokens, Unit: "tokens", Better: None, Source: times, Help: "prompt tokens as the server counts them"},
		{Name: Energy, Unit: "J", Better: Lower, Source: energy, Help: "gross energy of the GPUs"},
		{Name: energyNet, Unit: "J", Better: Lower, Source: energy, Help: "that less what the GPUs draw at rest"},
	}
}

// common appends these scores of a trial.
func common(out []Value, r results.Row) []Value {
	if r.Failed {
		out = append(out, ValueOf(Answered, "", 0), LabelOf(failureKind, "", r.Kind))
		for _, n := range []string{ttft, Latency, serverTotal, Tokens, PromptTokens, Energy, energyNet} {
			out = append(out, Invalid(n, "", Failure))
		}
		return out
	}
	out = append(out, ValueOf(Answered, "", 1), Undefined(failureKind, "", "there is an answer"))
	lost := Lost(&r)
	span := func(name string, d *time.Duration, why string) {
		switch {
		case len(lost) > 0:
			out = append(out, Invalid(name, "", "the time does not count: "+results.Words(lost)))
		case r.Latency == nil:
			out = append(out, Invalid(name, "", "no content was timed"))
		case d == nil:
			out = append(out, Invalid(name, "", why))
		default:
			out = append(out, ValueOf(name, "", d.Seconds()))
		}
	}
	span(ttft, r.TTFT, "the first content was not timed")
	span(Latency, r.Latency, "no content was timed")
	span(serverTotal, r.ServerTotal, "the server reports no total duration")
	count := func(name string, n *int) {
		if n == nil {
			out = append(out, Invalid(name, "", "the server counts no tokens"))
			return
		}
		out = append(out, ValueOf(name, "", float64(*n)))
	}
	count(Tokens, r.CompletionTokens)
	count(PromptTokens, r.PromptTokens)
	return append(out, energies(r.GPU)...)
}

func energies(u *results.Use) []Value {
	joules := func(name string, e timing.Millijoules) Value { return ValueOf(name, "", float64(e)/1000) }
	switch {
	case u == nil:
		return []Value{Invalid(Energy, "", "no telemetry"), Invalid(energyNet, "", "no telemetry")}
	case u.Unknown != "":
		return []Value{Invalid(Energy, "", u.Unknown), Invalid(energyNet, "", u.Unknown)}
	case u.Net == nil:
		return []Value{joules(Energy, u.Gross), Invalid(energyNet, "", "the power at rest is not known")}
	}
	return []Value{joules(Energy, u.Gross), joules(energyNet, *u.Net)}
}

// Lost are the flags that take the time of a row's last attempt away.
func Lost(r *results.Row) []results.Flag {
	if r.Failed {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(r.Flags), func(f results.Flag) bool { return !f.Disqualifies() })
}

// Seconds is a trial's latency T; false: it has none, or it does not count
// (metrics.md section 4).
func Seconds(r *results.Row) (float64, bool) {
	if r.Failed || r.Latency == nil || len(Lost(r)) > 0 {
		return 0, false
	}
	return r.Latency.Seconds(), true
}
