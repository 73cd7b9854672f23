package cli

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"assay/harness/doctor"
	"assay/harness/fleet"
	"assay/results"
)

// watchedStations are the workers in the database that live, as the doctor compares them.
func watchedStations(c *cli.Context) ([]doctor.Station, error) {
	f, err := open(c.Context, c, c.String("database"), true)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all, err := f.Hosts(c.Context)
	if err != nil {
		return nil, environment(err)
	}
	return stations(all)
}

// stations leaves out who ended, is silent, or only judges.
func stations(all []fleet.Host) (out []doctor.Station, err error) {
	for _, h := range all {
		if h.Judge || !lives(h) {
			continue
		}
		s := doctor.Station{From: "the database"}
		if err := json.Unmarshal(h.Facts, &s.Host); err != nil {
			return nil, environment(fmt.Errorf("doctor: what host %s says of itself cannot be read: %w; its assay is of another version", h.Name, err))
		}
		if err := json.Unmarshal(h.Models, &s.Models); err != nil {
			return nil, environment(fmt.Errorf("doctor: what host %s says of its models cannot be read: %w; its assay is of another version", h.Name, err))
		}
		s.Host.Name, s.Host.Version = h.Name, h.Version
		if h.Revision != "" {
			s.Host.Version += " (" + h.Revision + ")"
		}
		if h.Offset != nil && h.Error != nil {
			seconds := func(v float64) time.Duration { return time.Duration(v * float64(time.Second)) }
			s.Host.Clock = &results.ClockOffset{Offset: -seconds(*h.Offset), Bound: seconds(*h.Error)} // theirs is the database's less the host's
		}
		out = append(out, s)
	}
	return out, nil
}

// lives says whether a host works, or waits for work.
func lives(h fleet.Host) bool { return !h.Ended && h.Silent <= h.Lease }
