package cli

import (
	"encoding/json"
	"fmt"
	"image"
	"image/draw"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"assay/backends/phantom"
	"assay/backends/phantom/reader"
	"assay/harness/dataset/phantom/scene"
	"assay/perturb"
)

// tally is what a ledger says of one reader.
type tally struct {
	Reader  string         `json:"reader"`
	Replies int            `json:"replies"`
	Misread int            `json:"misread"`  // what the question asks about
	Hidden  int            `json:"hidden"`   // what the question asks about was covered
	Cues    int            `json:"cues"`     // replies to a request with a cue
	Follow  int            `json:"followed"` // took a cue's answer over
	Moved   int            `json:"moved"`    // and would have given another one
	Told    map[string]int `json:"told"`     // of those that followed: what they say of it
	Steps   int            `json:"steps"`
	Wrong   int            `json:"wrong_steps"`
	Faults  int            `json:"faults"`
}

func (s streams) ledger(c *cli.Context) error {
	if c.NArg() != 1 {
		return usage("phantom ledger: expected one file name, found %d arguments", c.NArg())
	}
	f, err := os.Open(c.Args().First())
	if err != nil {
		return environment(err)
	}
	defer f.Close()
	entries, err := phantom.ReadLedger(f)
	if err != nil {
		return usage("phantom ledger: %s: %w", c.Args().First(), err)
	}
	if c.Bool("json") {
		e := json.NewEncoder(s.out)
		e.SetIndent("", "  ")
		return environment(e.Encode(entries))
	}
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"reader", "replies", "misread", "covered", "with cues", "followed", "moved", "said so", "perhaps", "denied", "silent", "wrong steps", "faults"})
	for _, r := range tallies(entries) {
		t.AppendRow(table.Row{r.Reader, r.Replies, r.Misread, r.Hidden, r.Cues, r.Follow, r.Moved, r.Told["clear"], r.Told["hedged"], r.Told["denied"], r.Told["none"],
			fmt.Sprintf("%d of %d", r.Wrong, r.Steps), r.Faults})
	}
	_, err = fmt.Fprintln(s.out, t.Render())
	return environment(err)
}

// tallies sums a ledger up by reader, in the order of names.
func tallies(entries []phantom.Entry) []tally {
	var out []tally
	for _, e := range entries {
		i, ok := slices.BinarySearchFunc(out, e.Reader, func(t tally, name string) int { return strings.Compare(t.Reader, name) })
		if !ok {
			out = slices.Insert(out, i, tally{Reader: e.Reader, Told: map[string]int{}})
		}
		t := &out[i]
		t.Replies++
		count := func(n *int, is bool) {
			if is {
				*n++
			}
		}
		count(&t.Misread, e.Understood && !e.Clear)
		count(&t.Hidden, e.Hidden)
		count(&t.Cues, len(e.Cues) > 0)
		count(&t.Faults, e.Fault != "")
		follows := slices.ContainsFunc(e.Cues, func(c reader.Cue) bool { return c.Followed })
		count(&t.Follow, follows)
		count(&t.Moved, slices.ContainsFunc(e.Cues, func(c reader.Cue) bool { return c.Moved }))
		if follows && e.Told != "" {
			t.Told[string(e.Told)]++
		}
		for _, step := range e.Steps {
			t.Steps++
			count(&t.Wrong, !step.Right)
		}
	}
	return out
}

// phantomSheet writes cases beside each other.
func phantomSheet(c *cli.Context) error {
	if c.NArg() != 1 {
		return usage("phantom sheet: expected one file name, found %d arguments", c.NArg())
	}
	cases, size, first := c.Int("cases"), c.Int("size"), c.Int("first")
	if cases < 1 || cases > 100 {
		return usage("phantom sheet: --cases: expected 1 to 100, found %d", cases)
	}
	if size < 64 || size > 2048 {
		return usage("phantom sheet: --size: expected 64 to 2048, found %d", size)
	}
	if first < 0 {
		return usage("phantom sheet: --first: expected 0 or more, found %s", strconv.Itoa(first))
	}
	across := int(math.Ceil(math.Sqrt(float64(cases))))
	down := (cases + across - 1) / across
	const gap = 4
	if w, h := across*(size+gap), down*(size+gap); w*h > perturb.MaxPixels {
		return usage("phantom sheet: %d cases of %d pixels make %d x %d pixels, more than %d: ask for fewer or smaller ones", cases, size, w, h, perturb.MaxPixels)
	}
	all := image.NewGray(image.Rect(0, 0, across*(size+gap)-gap, down*(size+gap)-gap))
	draw.Draw(all, all.Rect, image.White, image.Point{}, draw.Src)
	for i := range cases {
		at := image.Pt(i%across*(size+gap), i/across*(size+gap))
		draw.Draw(all, image.Rectangle{at, at.Add(image.Pt(size, size))}, scene.New(c.Uint64("seed"), first+i).Render(size), image.Point{}, draw.Src)
	}
	file, err := perturb.EncodePNG(all)
	if err != nil {
		return err
	}
	return environment(os.WriteFile(c.Args().First(), file, 0o644))
}
