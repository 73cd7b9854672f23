package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"assay/harness/fleet"
)

// Flags that several commands have. A name means one thing everywhere, and a word in
// capitals says what it takes; TestAFlagMeansOneThing holds both.

// repeated is a flag that may be given again; its help says so in words.
type repeated struct{ *cli.StringSliceFlag }

func (repeated) IsSliceFlag() bool { return false }

func (f repeated) String() string { return cli.FlagStringer(f) }

func repeatedFlag(name, usage string) cli.Flag {
	return repeated{&cli.StringSliceFlag{Name: name, Usage: usage}}
}

// listOf are the values of a flag, given with commas between them or again.
func listOf(c *cli.Context, name string) (out []string) {
	for _, v := range c.StringSlice(name) {
		out = append(out, commaList(v)...)
	}
	return out
}

// commaList splits "a,b"; empty gives none.
func commaList(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
}

func modelsFlag() cli.Flag { return repeatedFlag("models", "only these models: `MODEL,...`") }

// studyFlag names one study; by says which without it.
func studyFlag(usage, by string) cli.Flag {
	return &cli.StringFlag{Name: "study", Usage: usage, DefaultText: by}
}

func seedFlag(value uint64, usage string) cli.Flag {
	return &cli.Uint64Flag{Name: "seed", Value: value, Usage: "seed `N` of " + usage}
}

func datasetFlag() cli.Flag {
	return &cli.StringFlag{Name: "dataset", Usage: "the data set `NAME` of bench.yaml", DefaultText: "the only one of the studies"}
}

func drawsFlag() cli.Flag {
	return &cli.IntFlag{Name: "draws", Value: 10_000, Usage: "`N` bootstrap replicates"}
}

// columnFlag says which columns of a table are what.
func columnFlag(fields string) cli.Flag {
	return repeatedFlag("column", "which column a field is in, `FIELD=COLUMN`; again for others; "+fields)
}

// columnsOf are the columns of fields: own, unless --column says others.
func columnsOf(c *cli.Context, own map[string]string) (map[string]string, error) {
	for _, said := range c.StringSlice("column") {
		field, column, ok := strings.Cut(said, "=")
		if _, known := own[field]; !ok || !known || column == "" {
			return nil, fmt.Errorf("--column: expected FIELD=COLUMN with a field of %s, found %q", strings.Join(slices.Sorted(maps.Keys(own)), ", "), said)
		}
		own[field] = column
	}
	return own, nil
}

func databaseFlag() cli.Flag {
	return &cli.StringFlag{Name: "database", Usage: "the `DATABASE`, as postgres://user@host/assay, without a password", DefaultText: "what " + fleet.Variable + " says"}
}

func experimentFlag() cli.Flag {
	return &cli.StringFlag{Name: "experiment", Usage: "the experiment `NAME`, if the database has several"}
}

// conditionUsage is of the flags that name one condition.
const conditionUsage = "the `CONDITION`, such as VO-BB, VB-BB-@thickness_px=8 or VO-GRID@8x8:r3c5"
