package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"assay/harness/config"
	"assay/harness/experiment"
	"assay/harness/machine"
	"assay/results"
	"assay/results/store"
	"assay/timing"
	"assay/timing/telemetry"
)

func (s streams) calibrateCommand() *cli.Command {
	return &cli.Command{
		Name:      "calibrate",
		ArgsUsage: "[STORE.sqlite]",
		Flags: []cli.Flag{configFlag(), jsonFlag(),
			&cli.StringFlag{Name: "out", Aliases: []string{"o"}, Value: "calibration.json", Usage: "the `FILE` to write, JSON"},
			&cli.Float64Flag{Name: "efficiency", Value: 1, Usage: "the `SHARE` of the meter's watts that the power supply passes on, 0.5 to 1"},
			&cli.Float64Flag{Name: "others", Usage: "the `WATTS` that the machine draws without the GPU"}},
		Action: func(c *cli.Context) error {
			if c.NArg() > 1 {
				return usage("calibrate: expected one store, found %d arguments", c.NArg())
			}
			f := machine.Calibration{Made: time.Now().UTC().Truncate(time.Second), Efficiency: c.Float64("efficiency"), Others: timing.Milliwatts(1000 * c.Float64("others"))}
			if !(f.Efficiency >= .5 && f.Efficiency <= 1) || !(f.Others >= 0 && f.Others <= 1e7) {
				return usage("calibrate: expected an efficiency of 0.5 to 1 and others of 0 to 10000 W, found %g and %g", f.Efficiency, float64(f.Others)/1000)
			}
			path := c.Args().First()
			if path == "" {
				cfg, err := config.Read(c.String("config"), experiment.Known())
				if err != nil {
					return err
				}
				path = cfg.Store
			}
			if err := s.calibrate(c, path, &f); err != nil {
				return environment(err)
			}
			b, err := json.MarshalIndent(f, "", "  ")
			if err == nil {
				err = os.WriteFile(c.String("out"), append(b, '\n'), 0o644)
			}
			if err != nil {
				return environment(err)
			}
			if c.Bool("json") {
				_, err = s.Out.Write(append(b, '\n'))
				return err
			}
			for _, card := range f.Cards {
				for _, name := range []string{telemetry.Instant, telemetry.Average, telemetry.Counter} {
					if fit, ok := card.Fits[name]; ok {
						fmt.Fprintf(s.Out, "%s, %s: gain %.3f ± %.3f, offset %.1f ± %.1f W, by %d levels of %.0f to %.0f W\n", card.Name, name, fit.Gain, fit.GainError,
							fit.Offset/1000, fit.OffsetError/1000, fit.Levels, fit.Low/1000, fit.High/1000)
					} else if why := card.Refused[name]; why != "" {
						fmt.Fprintf(s.Out, "%s, %s: refused: %s\n", card.Name, name, why)
					}
				}
			}
			fmt.Fprintf(s.Out, "written to %s; name it in bench.yaml under telemetry.calibration\n", c.String("out"))
			return nil
		},
	}
}

// calibrate fits the GPUs of the last session that has some and a meter.
func (s streams) calibrate(c *cli.Context, path string, f *machine.Calibration) error {
	st, err := store.OpenReader(c.Context, path)
	if err != nil {
		return err
	}
	defer st.Close()
	sessions, err := st.Sessions(c.Context)
	if err != nil {
		return err
	}
	of := func(ses results.Session, kind telemetry.Kind) int {
		return slices.IndexFunc(ses.Devices, func(d results.Watched) bool { return d.Kind == string(kind) && !d.Synthetic })
	}
	for _, ses := range slices.Backward(sessions) {
		n := of(ses, telemetry.Meter)
		if n < 0 || of(ses, telemetry.GPU) < 0 {
			continue
		}
		var meter []timing.PowerReading
		var bad error
		for one, err := range machine.Stored(c.Context, st, ses.ID, n) {
			if err != nil {
				return err
			}
			if v, ok := one.Get(telemetry.PowerInstant); ok {
				meter = append(meter, timing.PowerReading{At: one.At, Power: max(0, timing.Milliwatts(f.Efficiency*float64(v))-f.Others)})
			}
		}
		f.Meter = ses.Devices[n].Name
		var why error
		for i, d := range ses.Devices {
			if d.Kind != string(telemetry.GPU) || d.Synthetic {
				continue
			}
			var about telemetry.Device
			if err := json.Unmarshal(d.About, &about); err != nil {
				return fmt.Errorf("the description of device %s cannot be read: %w", d.Name, err)
			}
			if about.Remote {
				continue
			}
			card, err := machine.Calibrate(about, func(yield func(telemetry.Sample) bool) {
				for one, err := range machine.Stored(c.Context, st, ses.ID, i) {
					if bad = err; err != nil || !yield(one) {
						return
					}
				}
			}, meter)
			if bad != nil {
				return bad
			}
			if err != nil {
				why = errors.Join(why, err)
				continue
			}
			f.Cards = append(f.Cards, card)
		}
		if len(f.Cards) == 0 {
			return cmp.Or(why, fmt.Errorf("%s: no GPU of this machine was watched beside the meter", path))
		}
		return nil
	}
	return fmt.Errorf("%s: no session has both a GPU and a meter; name a plug in bench.yaml under telemetry.meters, and let the machine rest and work at several heights during a run", path)
}
