package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"assay/harness/experiment"
	"assay/harness/machine"
	"assay/harness/page"
	"assay/harness/plan"
	"assay/harness/run"
	"assay/harness/servers"
)

func (s streams) judgeCommand() *cli.Command {
	return &cli.Command{
		Name: "judge",
		Flags: []cli.Flag{configFlag(), jsonFlag(), figuresFlag(),
			&cli.StringFlag{Name: "cases", Usage: "only write what judges are shown into this `FILE`, JSON lines, to judge elsewhere"}},
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			b, p, err := loadPlanned(c, plan.Filter{})
			if err != nil {
				return err
			}
			st, _, err := s.openStore(c.Context, b, p, machine.ThisHost(thisBuild().Version))
			if err != nil {
				return err
			}
			defer st.Close()
			defer context.AfterFunc(c.Context, st.MarkStopping)()
			if to := c.String("cases"); to != "" {
				cases, open := 0, 0
				if err := writeFile(to, func(w io.Writer) (err error) {
					cases, open, err = b.WriteCases(c.Context, p, st, w)
					return err
				}); err != nil {
					return environment(err)
				}
				wait := ""
				if open > 0 {
					wait = fmt.Sprintf("; %d more rest on verdicts that are still to come (assay judge makes them)", open)
				}
				_, err := fmt.Fprintf(s.Out, "%s: %d cases, one a line%s\n", to, cases, wait)
				return environment(err)
			}
			srv := servers.NewServers(experiment.Setup(b.Config))
			defer srv.Close()
			tally, err := b.Judge(c.Context, p, st, srv, s.Err)
			if c.Context.Err() != nil && err != nil {
				return interrupted("interrupted: the judgments so far are stored in %s; the same command continues from there", b.Config.Store)
			}
			if err != nil {
				return environment(err)
			}
			if err := s.publish(c.Context, st, b.Config.Store, publication{json: c.Bool("json"), figures: figures(c), examples: mostExamples, pics: page.Rendered{Sent: b.Sent(p)}}); err != nil {
				return err
			}
			return s.verdict(b, run.Summary{}, tally)
		},
	}
}
