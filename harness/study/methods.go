package study

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"assay/results"
	"assay/results/stats"
	"assay/timing"
)

// Sentences for a methods section: how devices were watched.

// watched says how devices were watched, each way once.
func watched(sessions []results.Session) []string {
	var out []string
	say := func(s string) {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	for _, ses := range sessions {
		if ses.Hz > 0 && len(ses.Devices) > 0 {
			say(fmt.Sprintf("Devices were watched %d times a second, on the clock that times the requests.", ses.Hz))
		}
		for _, d := range ses.Devices {
			if s := deviceSentence(d, ses.Holds); s != "" {
				say(s)
			}
		}
	}
	if len(out) == 0 && len(sessions) > 0 {
		say("No device was watched, so that no energies are known.")
	}
	return out
}

// facts are what a methods section names of a device, in order.
func facts() [][2]string {
	return [][2]string{{"driver", "driver"}, {"nvml", "NVML"}, {"gpu_metrics", "gpu_metrics"}, {"uuid", "UUID"}, {"mig", "MIG"}, {"vbios", "VBIOS"}}
}

func deviceSentence(d results.Watched, holds map[string]results.Hold) string {
	if d.Kind == "host" {
		return ""
	}
	name := d.Name
	if d.Synthetic {
		name += " (synthetic)"
	}
	parts := []string{"source " + d.Source}
	for _, f := range facts() {
		if v := d.Fact(f[0]); v != "" {
			parts = append(parts, f[1]+" "+v)
		}
	}
	if mw, err := strconv.ParseInt(d.Fact("power_limit_mw"), 10, 64); err == nil {
		parts = append(parts, fmt.Sprintf("power limit %s W", stats.Significant(float64(mw)/1000, 4)))
	}
	s := fmt.Sprintf("%s (%s)", name, strings.Join(parts, ", "))
	if ns, err := strconv.ParseInt(d.Fact("energy_tick_ns"), 10, 64); err == nil && ns > 0 {
		s += fmt.Sprintf(" has an energy counter that changes every %s ms (measured before the run) and", stats.Significant(float64(ns)/1e6, 3))
	}
	var levels []string
	for _, model := range slices.Sorted(maps.Keys(holds)) {
		r := holds[model].Rest[d.ID]
		if r.Loaded != nil {
			levels = append(levels, fmt.Sprintf("%s W with %s in memory", rest(r.Loaded), model))
		}
		if r.Unloaded != nil {
			levels = append(levels, fmt.Sprintf("%s W without %s", rest(r.Unloaded), model))
		}
	}
	switch b := d.Baseline; {
	case len(levels) > 0:
		return s + fmt.Sprintf(" drew at rest %s, each the median of whole seconds over ten seconds or more.", strings.Join(levels, ", "))
	case b == nil:
		return s + " has no baseline at rest, so that net energies are unknown."
	case d.Synthetic:
		return s + fmt.Sprintf(" draws %s W at rest by its profile.", rest(b))
	default:
		return s + fmt.Sprintf(" drew %s W at rest, the median of whole seconds over ten seconds or more before the run.", rest(b))
	}
}

func rest(b *timing.Baseline) string {
	if level := cmp.Or(b.Counter, b.Power); level != nil {
		return stats.Significant(float64(level.Median)/1000, 3)
	}
	return "an unknown power"
}
