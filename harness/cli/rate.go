package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"assay/harness/agree"
	"assay/results/rating"
	"assay/results/store"
	"assay/results/viewer"
)

// studyFlags say which reader study is meant.
func studyFlags() []cli.Flag {
	return []cli.Flag{
		studyFlag("the last draw of this `STUDY`", "of the last draw"),
		repeatedFlag("rubrics", "only these rubrics: `RUBRIC,...`"),
		repeatedFlag("also", "ask for these axes too, `AXIS,...`: helpfulness, plausibility"),
		&cli.StringFlag{Name: "log", Usage: "the `FILE` of clicks", DefaultText: "NAME-ratings.jsonl beside the store", TakesFile: true},
	}
}

func (s streams) rateServe() *cli.Command {
	return &cli.Command{
		Name:      "serve",
		ArgsUsage: "[STORE.sqlite]",
		Flags: slices.Concat([]cli.Flag{configFlag(),
			repeatedFlag("rater", "the `NAME` of a rater who gets a code, better a pseudonym; again for each"),
			repeatedFlag("renew", "give the rater `NAME`, or coordinator, a new code; again for each"),
			&cli.BoolFlag{Name: "unchanged", Usage: "also show the image without the condition's change: raters see what was changed"},
			&cli.BoolFlag{Name: "without-images", Usage: "show no images, where they are not at hand"}}, studyFlags(), listenFlags()),
		Action: s.serve,
	}
}

// study reads the reader study of a store, and where its clicks are.
func (s streams) study(c *cli.Context) (*store.Store, *agree.Set, string, error) {
	path, err := storeOf(c)
	if err != nil {
		return nil, nil, "", err
	}
	st, err := store.OpenReader(c.Context, path)
	if err != nil {
		return nil, nil, "", environment(err)
	}
	w := agree.Selection{Study: c.String("study"), Rubrics: listOf(c, "rubrics"), Also: listOf(c, "also")}
	if len(w.Rubrics) == 0 {
		w.Rubrics = nil
	}
	set, err := agree.ReadStore(c.Context, st, w)
	if err != nil {
		st.Close()
		return nil, nil, "", declined(c.Command.Name, err)
	}
	return st, set, cmp.Or(c.String("log"), strings.TrimSuffix(path, filepath.Ext(path))+"-ratings.jsonl"), nil
}

// declined tells what was asked for wrongly from what could not be done.
func declined(name string, err error) error {
	var no *agree.StoreRefusedError
	if errors.As(err, &no) {
		return usage("people %s: %w", name, err)
	}
	return environment(err)
}

func (s streams) serve(c *cli.Context) error {
	o, err := listen(c, true)
	if err != nil {
		return err
	}
	names, renew := c.StringSlice("rater"), c.StringSlice("renew")
	if err := rating.CheckNames(names); err != nil {
		return usage("people serve: --rater: %w", err)
	}
	st, set, file, err := s.study(c)
	if err != nil {
		return err
	}
	defer st.Close()
	pics, err := s.illustrated(c, st, set)
	if err != nil {
		return err
	}
	log, err := rating.OpenLog(file, &set.Study)
	if err != nil {
		return environment(err)
	}
	defer log.Close()
	if err := log.Known(renew); err != nil {
		return usage("people serve: --renew: %w", err)
	}
	codes, err := log.Codes(names, renew)
	if err != nil {
		return environment(err)
	}
	fmt.Fprintf(s.Out, "%d answers to rate, %d before them to learn the scales; every click is written to %s\n", len(set.Cases), len(set.Calibration), file)
	if set.Left > 0 {
		fmt.Fprintf(s.Out, "%d drawn answers are left out: no judge was asked about them under a rubric that people can be asked\n", set.Left)
	}
	for _, name := range append([]string{rating.Coordinator}, append(names, renew...)...) {
		if code, ok := codes[name]; ok {
			fmt.Fprintf(s.Out, "code of %s: %s\n", name, code)
			delete(codes, name)
		}
	}
	handler := rating.Handler(&set.Study, log, pics)
	return environment(s.showPeople(c.Context, o, handler))
}

// show serves until Ctrl-C, which is how this ends and no failure.
func (s streams) showPeople(ctx context.Context, o viewer.Options, h http.Handler) error {
	return viewer.Serve(ctx, o, h, func(address string) {
		fmt.Fprintf(s.Out, "study server at %s for raters and coordinator, until Ctrl-C\n", address)
	})
}

// illustrated finds the study's pictures, all of them.
func (s streams) illustrated(c *cli.Context, st *store.Store, set *agree.Set) (rating.Pictures, error) {
	if c.Bool("without-images") {
		return nil, nil
	}
	pics, err := set.Illustrate(c.Context, st, c.String("config"), c.Bool("unchanged"))
	if err != nil {
		return nil, declined("serve", fmt.Errorf("%w (--without-images shows none)", err))
	}
	if n, why := set.Without(); n > 0 {
		return nil, environment(fmt.Errorf("people serve: the images of %d cases are not at hand: %s; --without-images shows none", n, why))
	}
	return pics, nil
}

func (s streams) rateExport() *cli.Command {
	return &cli.Command{
		Name:      "export",
		ArgsUsage: "[STORE.sqlite]",
		Flags: slices.Concat([]cli.Flag{configFlag(),
			&cli.StringFlag{Name: "out", Required: true, Usage: "the `FILE` to write, CSV"},
			&cli.StringFlag{Name: "verdicts", Usage: "also write a `FILE` for a judge of kind human, JSON lines"}}, studyFlags()),
		Action: s.export,
	}
}

func (s streams) export(c *cli.Context) error {
	st, set, file, err := s.study(c)
	if err != nil {
		return err
	}
	defer st.Close()
	log, err := rating.ReadLog(file, &set.Study)
	if errors.Is(err, os.ErrNotExist) {
		return environment(fmt.Errorf("people export: nobody rated yet: %w; assay people serve makes it", err))
	}
	if err != nil {
		return environment(err)
	}
	var n agree.Written
	write := func(verdicts io.Writer) error {
		return writeFile(c.String("out"), func(grades io.Writer) (err error) {
			n, err = set.Export(log, grades, verdicts)
			return err
		})
	}
	if to := c.String("verdicts"); to != "" {
		err = writeFile(to, write)
	} else {
		err = write(nil)
	}
	if err != nil {
		return environment(err)
	}
	fmt.Fprintf(s.Out, "%s: %d ratings; %d cases that were begun and not submitted are left out\n", c.String("out"), n.Ratings, n.Open)
	if to := c.String("verdicts"); to != "" {
		fmt.Fprintf(s.Out, "%s: %d verdicts\n", to, n.Verdicts)
	}
	if !set.Grades() {
		fmt.Fprintln(s.Out, "nothing was rated by numbers: the CSV file is for assay people agree, the verdicts are for a judge of kind human")
	}
	return nil
}
