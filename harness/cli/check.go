package cli

import (
	"encoding/json"
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/urfave/cli/v2"

	"assay/harness/dataset/phantom/check"
	"assay/results/stats"
)

func (s streams) checkCommand() *cli.Command {
	return &cli.Command{
		Name:  "check",
		Usage: "measure phantoms of known truth with the whole instrument, and compare",
		Description: "Runs phantom readers and judges through adapters, runner, judges and scores of both studies. Scores where nothing is\n" +
			"sampled have to equal the readers' ledger; other intervals should hold what readers and judges were built to give,\n" +
			"among them the slope of answers over the strength of a cue. Times show how busy this machine is and decide nothing.\n" +
			"With --coverage it also counts, over simulated stores, how often intervals hold the truth: 91 to 98 % of them.",
		Flags: []cli.Flag{jsonFlag(),
			&cli.IntFlag{Name: "items", Value: 32, Usage: "`N` phantom cases"},
			&cli.Uint64Flag{Name: "seed", Value: 7, Usage: "of cases, readers and judges"},
			&cli.BoolFlag{Name: "coverage", Usage: "simulate stores and count which intervals hold the truth (some minutes)"},
			&cli.IntFlag{Name: "stores", Value: 400, Usage: "`N` simulated stores, with --coverage"},
		},
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			if n := c.Int("items"); n < 4 || n > 1000 {
				return usage("phantom check: --items: expected 4 to 1000, found %d", n)
			}
			if n := c.Int("stores"); n < 20 || n > 10_000 {
				return usage("phantom check: --stores: expected 20 to 10000, found %d", n)
			}
			if c.IsSet("stores") && !c.Bool("coverage") {
				return usage("phantom check: --stores is about --coverage: give both")
			}
			return s.check(c)
		},
	}
}

func (s streams) check(c *cli.Context) error {
	rows, err := check.Instrument(c.Context, check.Args{Items: c.Int("items"), Size: 256, Seed: c.Uint64("seed")})
	if err != nil {
		return environment(err)
	}
	var covered []check.Covered
	if c.Bool("coverage") {
		if covered, err = check.Coverage(c.Context, c.Int("stores"), c.Uint64("seed")); err != nil {
			return environment(err)
		}
	}
	off := check.Off(rows)
	for _, v := range covered {
		off = off || !v.OK
	}
	if c.Bool("json") {
		e := json.NewEncoder(s.out)
		e.SetIndent("", "  ")
		err = e.Encode(struct {
			OK       bool            `json:"ok"`
			Rows     []check.Row     `json:"rows"`
			Coverage []check.Covered `json:"coverage,omitempty"`
		}{!off, rows, covered})
	} else {
		err = s.printCheck(rows, covered)
	}
	if err == nil && off {
		err = &coded{exitFailures, fmt.Errorf("the instrument is off: look for \"OFF\" above; do not trust its scores on this machine")}
	}
	return err
}

func (s streams) printCheck(rows []check.Row, covered []check.Covered) error {
	w := table.NewWriter()
	w.SetStyle(table.StyleLight)
	w.AppendHeader(table.Row{"compared", "what", "score", "truth", "found", "95 % interval", ""})
	numbers := []table.ColumnConfig{{Number: 4, Align: text.AlignRight}, {Number: 5, Align: text.AlignRight}, {Number: 6, Align: text.AlignRight}}
	w.SetColumnConfigs(numbers)
	equal, exact, inside, sampled := 0, 0, 0, 0
	for i, r := range rows {
		if i > 0 && r.Kind != rows[i-1].Kind {
			w.AppendSeparator()
		}
		found, interval, verdict := "none", "", "OFF"
		if r.Found != nil {
			found = stats.Significant(*r.Found, 4)
		}
		if r.Low != nil {
			interval = stats.Significant(*r.Low, 4) + " to " + stats.Significant(*r.High, 4)
		}
		switch {
		case r.Kind == check.Exact && r.OK:
			verdict = "equal"
		case r.OK:
			verdict = "inside"
		case r.Kind != check.Exact:
			verdict = "outside"
		}
		switch r.Kind {
		case check.Exact:
			exact++
			if r.OK {
				equal++
			}
		case check.Sampled:
			sampled++
			if r.OK {
				inside++
			}
		}
		w.AppendRow(table.Row{r.Kind, r.What, r.Score, stats.Significant(r.Truth, 4), found, interval, verdict})
	}
	least, _ := check.Bounds(sampled)
	if _, err := fmt.Fprintf(s.out, "%s\n%d of %d scores without sampling equal the truth.\n%d of %d intervals hold what readers and judges were built to give (fewer than %d would be a fault).\n",
		w.Render(), equal, exact, inside, sampled, least); err != nil {
		return err
	}
	if covered == nil {
		return nil
	}
	w = table.NewWriter()
	w.SetStyle(table.StyleLight)
	w.AppendHeader(table.Row{"score", "truth", "mean of estimates", "intervals that hold it", "%", ""})
	w.SetColumnConfigs([]table.ColumnConfig{{Number: 2, Align: text.AlignRight}, {Number: 3, Align: text.AlignRight}, {Number: 4, Align: text.AlignRight}, {Number: 5, Align: text.AlignRight}})
	within := 0
	for _, v := range covered {
		verdict := "OFF"
		if v.OK {
			verdict = "ok"
			within++
		}
		w.AppendRow(table.Row{v.Score, stats.Significant(v.Truth, 4), stats.Significant(v.Mean, 4), fmt.Sprintf("%d of %d", v.Inside, v.Stores),
			stats.Fixed(100*float64(v.Inside)/float64(max(1, v.Stores)), 1), verdict})
	}
	least, most := check.Bounds(covered[0].Stores)
	_, err := fmt.Fprintf(s.out, "\n%s\n%d of %d scores have %d to %d intervals that hold the truth.\n", w.Render(), within, len(covered), least, most)
	return err
}
