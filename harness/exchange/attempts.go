package exchange

import (
	"context"
	"fmt"
	"time"

	"assay/results"
	"assay/results/store"
	"assay/timing"
	"assay/timing/telemetry"
)

// judgments is one row for each current judgment of each trial.
func judgments(ctx context.Context, st *store.Store) Table {
	cols := slicesOf(keyColumns(), []results.FileColumn{text("rubric", "what the judge was asked"), text("judge", "its name in bench.yaml"),
		text("version", "digest of its settings and prompt"), text("status", "what became of it: clean and repaired ones carry a verdict"),
		prose("detail", "what was wrong, or why it abstained"), prose("verdict", "as JSON, in the rubric's schema"), prose("case", "digest of what the judge was shown")})
	return Table{cols, func(visit func([]any) error) error {
		row := make([]any, 0, len(cols))
		for j, err := range st.Judgments(ctx, "") {
			if err != nil {
				return err
			}
			row = append(keyRow(row[:0], j.Key), j.Rubric, j.Judge, some(string(j.By)), string(j.Status), some(j.Detail), some(string(j.Verdict)), string(j.Case))
			if err := visit(row); err != nil {
				return err
			}
		}
		return nil
	}}
}

// attempts is one row for each request: the turns of all attempts at all trials. An
// attempt that sent nothing has a row without a turn.
func attempts(ctx context.Context, st *store.Store) Table {
	cols := slicesOf(keyColumns(), []results.FileColumn{integer("attempt", "", "from 0; the last one counts"), integer("turn", "", "from 0"),
		prose("started", "wall time, RFC 3339: for people"), truth("failed", "the attempt is a failure"), text("failure", "its kind"), prose("failure_message", "what went wrong"),
		text("flags", "of the attempt"), text("cache_state", "of the attempt"),
		number("upload_s", "s", "sent - start"), number("ttft_s", "s", "first content - start; nothing where something held the stream back"), number("first_answer_s", "s", "first chunk after the reasoning - start"),
		number("latency_s", "s", "last content - start"), number("end_s", "s", "end of the stream - start"),
		integer("chunks", "", "parts of the text as the server sent them; not tokens"),
		integer("prompt_tokens", "tokens", "as the server counts"), integer("completion_tokens", "tokens", "as the server counts"),
		integer("cached_tokens", "tokens", "of the prompt, not computed anew"), integer("reasoning_tokens", "tokens", "of the completion"),
		number("server_total_s", "s", "by the server's clock"), number("server_load_s", "s", "of that, loading the model"), number("server_prompt_s", "s", "reading the prompt"),
		number("server_decode_s", "s", "writing the answer"), number("server_queue_s", "s", "waiting"),
		prose("answer", "of the turn"), prose("reasoning", "of the turn"), text("finish", "why it ended"), prose("sent", "digest of the request's body")})
	return Table{cols, func(visit func([]any) error) error {
		row := make([]any, 0, len(cols))
		for t, err := range st.Trials(ctx, "") {
			if err != nil {
				return err
			}
			for n, a := range t.Attempts {
				turns := a.Turns
				if len(turns) == 0 {
					turns = []results.Turn{{}}
					if o := a.Output; o != nil { // made elsewhere
						turns[0] = results.Turn{Answer: o.Answer, Reasoning: o.Reasoning, Finish: o.Finish}
					}
				}
				for i, u := range turns {
					row = append(keyRow(row[:0], t.Key), int64(n))
					if len(a.Turns) == 0 {
						row = append(row, nil)
					} else {
						row = append(row, int64(i))
					}
					row = attemptRow(row, a, u)
					if err := visit(row); err != nil {
						return err
					}
				}
			}
		}
		return nil
	}}
}

func attemptRow(row []any, a results.Attempt, u results.Turn) []any {
	var kind, message any
	if a.Failure != nil {
		kind, message = a.Failure.Kind, some(a.Failure.Message)
	}
	var started, cache any
	if !a.Started.IsZero() {
		started = a.Started.Format(time.RFC3339Nano)
	}
	if a.Cache != nil {
		cache = some(string(a.Cache.State))
	}
	row = append(row, started, a.Failure != nil, kind, message, flags(a.Flags), cache)
	since := func(e timing.Event) any {
		from, ok1 := u.Trace.At(timing.Start)
		at, ok2 := u.Trace.At(e)
		return known(at-from, ok1 && ok2)
	}
	ttft, began := u.Trace.TTFT() // not of a stream that was held back: nothing says when it began
	first, ok := u.Trace.TimeToFirstAnswer()
	var chunks any
	if len(a.Turns) > 0 {
		chunks = int64(len(u.Trace.Chunks))
	}
	row = append(row, since(timing.Sent), known(ttft, began), known(first, ok), since(timing.LastContent), since(timing.End), chunks,
		count(u.Usage.PromptTokens), count(u.Usage.CompletionTokens), count(u.Usage.CachedTokens), count(u.Usage.ReasoningTokens),
		seconds(u.Server.Total), seconds(u.Server.Load), seconds(u.Server.Prompt), seconds(u.Server.Decode), seconds(u.Server.Queue))
	return append(row, some(u.Answer), some(u.Reasoning), some(string(u.Finish)), some(string(u.Sent)))
}

// samples is one row for each look at each device; at_s is on the clock of the call
// of run, as the times of its requests are.
func samples(ctx context.Context, st *store.Store) (Table, error) {
	cols := []results.FileColumn{integer("session", "", "call of run, from 1"), integer("device", "", "its number in the session, from 0"), text("source", "what was asked"),
		text("name", "of the device"), text("kind", "gpu, cpu or host"), truth("synthetic", "the device is a phantom"),
		number("at_s", "s", "on the session's clock, the middle of the look"), number("took_s", "s", "that the look took")}
	var measures []telemetry.Measure
	for m := range telemetry.Measures() {
		measures = append(measures, m)
		cols = append(cols, integer(m.String(), unitOf(m), "as the device reports it"))
	}
	sessions, err := st.Sessions(ctx)
	if err != nil {
		return Table{}, err
	}
	return Table{cols, func(visit func([]any) error) error {
		row := make([]any, 0, len(cols))
		for _, ses := range sessions {
			for n, d := range ses.Devices {
				for c, err := range st.SampleBundles(ctx, ses.ID, n) {
					if err != nil {
						return err
					}
					samples, err := telemetry.Unpack(c.Bytes)
					if err != nil {
						return fmt.Errorf("%w: samples of %s: %v", results.FaultDamaged, d.Name, err)
					}
					for _, x := range samples {
						row = append(row[:0], ses.ID, int64(n), d.Source, d.Name, d.Kind, d.Synthetic, x.At.Seconds(), x.Took.Seconds())
						for _, m := range measures {
							if v, ok := x.Get(m); ok {
								row = append(row, v)
							} else {
								row = append(row, nil)
							}
						}
						if err := visit(row); err != nil {
							return err
						}
					}
				}
			}
		}
		return nil
	}}, nil
}

// unitOf is the unit that ends a measure's name.
func unitOf(m telemetry.Measure) string {
	name := m.String()
	for end, unit := range map[string]string{"_mw": "mW", "_uj": "uJ", "_percent": "%", "_bytes": "bytes", "_mc": "thousandths of a degree Celsius", "_mhz": "MHz", "_ms": "ms"} {
		if len(name) > len(end) && name[len(name)-len(end):] == end {
			return unit
		}
	}
	return ""
}
