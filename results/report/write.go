package report

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"assay/results"
)

// Page is the report's file for people.
const Page = "report.html"

// format is a kind of file that a report has: one for all, or one for each table or
// figure. Exactly one function is there.
type format struct {
	name   string // of the file, or how each file ends
	whole  func(io.Writer, []results.Section, Meta) error
	table  func(io.Writer, results.Table, Meta) error
	figure func(io.Writer, results.Figure, figureLook) error
}

// formats are all that Write writes. To add one: an entry, and its function.
func formats() []format {
	return []format{
		{name: Page, whole: HTML},
		{name: AllTables, whole: allTables},
		{name: "report.md", whole: markdown},
		{name: "report.json", whole: JSON},
		{name: ".csv", table: writeCSV},
		{name: ".tex", table: LaTeX},
		{name: ".svg", figure: svg},
		{name: ".pdf", figure: pdf},
		{name: "tables/methods.tex", whole: func(w io.Writer, sections []results.Section, m Meta) error { return latexMethods(w, m, sections...) }},
	}
}

// FigureTypes are the file types of figures, as file names end.
func FigureTypes() []string {
	var all []string
	for _, f := range formats() {
		if f.figure != nil {
			all = append(all, f.name[1:])
		}
	}
	return all
}

// Write writes the whole report into a folder, which it makes, with every table under
// tables and every figure under figures. A figure of a type that is not asked for goes,
// and AllTables where the first page holds all: they would show older numbers.
//
// Each file replaces an older one as a whole or not at all, and its owner alone can
// read it: it may show patients' pictures.
func Write(dir string, sections []results.Section, m Meta) error {
	check(sections)
	_, more := firstPage(sections)
	var writers errgroup.Group
	writers.SetLimit(runtime.GOMAXPROCS(0))
	for _, f := range formats() {
		unwanted := f.name == AllTables && !more || f.figure != nil && f.name != ".svg" && m.Figures != nil && !slices.Contains(m.Figures, f.name[1:])
		for _, one := range f.files(sections, m) {
			if unwanted {
				one.render = nil
			}
			writers.Go(func() error { return put(filepath.Join(dir, filepath.FromSlash(one.name)), one.render) })
		}
	}
	return writers.Wait()
}

// file is one of a report's.
type file struct {
	name   string
	render func(io.Writer) error
}

func (f format) files(sections []results.Section, m Meta) []file {
	if f.whole != nil {
		return []file{{f.name, func(w io.Writer) error { return f.whole(w, sections, m) }}}
	}
	all := append(sections[:len(sections):len(sections)], section(m.Run, true, sections...))
	if a := MainResults(sections); a != nil {
		first := results.Section{Tables: []results.Table{a.Table}}
		if f.name == ".csv" {
			first.Tables[0] = a.Tall
		}
		if a.Figure != nil {
			first.Figures = []results.Figure{*a.Figure}
		}
		all = append(all, first)
	}
	look := figureLook{Width: pageWidth, Made: m.Manifest.Created, Mark: m.figureMark()}
	var out []file
	for _, s := range all {
		for _, t := range s.Tables {
			if f.table != nil {
				out = append(out, file{"tables/" + t.Name + f.name, func(w io.Writer) error { return f.table(w, t, m) }})
			}
		}
		for _, g := range s.Figures {
			if f.figure != nil && !empty(visibleFigure(g)) {
				out = append(out, file{"figures/" + g.Name + f.name, func(w io.Writer) error { return f.figure(w, visibleFigure(g), look) }})
			}
		}
	}
	return out
}

// put writes a file, in a folder that it makes; one that has no render goes. A file that
// says the same already stays: most do where a report is made again.
func put(path string, render func(io.Writer) error) error {
	if render == nil {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing an older file: %w", err)
		}
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("making the report's folder: %w", err)
	}
	var b bytes.Buffer
	err := render(&b)
	if err == nil && !says(path, b.Bytes()) {
		err = replace(path, b.Bytes())
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// says tells whether a file that its owner alone can read has this text.
func says(path string, text []byte) bool {
	info, err := os.Lstat(path)
	if err != nil || info.Mode() != 0o600 || info.Size() != int64(len(text)) {
		return false
	}
	old, err := os.ReadFile(path)
	return err == nil && bytes.Equal(old, text)
}

// replace replaces a file; an error leaves the old one.
func replace(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // renamed, it is not there
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
