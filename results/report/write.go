package report

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"assay/results"
	"assay/results/report/figure"
	"assay/results/report/methods"
)

// Write writes the whole report into a folder, which it makes:
//
//	report.html  report.md  report.json
//	tables/NAME.csv  tables/NAME.tex  tables/methods.tex
//	figures/NAME.svg  figures/NAME.pdf  figures/NAME.png
//
// Each file replaces an older one as a whole or not at all, and its owner alone can
// read it: it may show patients' pictures.
func Write(dir string, sections []results.Section, m Meta) error {
	check(sections)
	put := func(render func(io.Writer) error, parts ...string) error {
		path := filepath.Join(append([]string{dir}, parts...)...)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return fmt.Errorf("making the report's folder: %w", err)
		}
		if err := writeFile(path, render); err != nil {
			return fmt.Errorf("writing %s: %w", path, err)
		}
		return nil
	}
	for _, f := range []struct {
		name   string
		render func(io.Writer, []results.Section, Meta) error
	}{{"report.html", HTML}, {"report.md", Markdown}, {"report.json", JSON}} {
		if err := put(func(w io.Writer) error { return f.render(w, sections, m) }, f.name); err != nil {
			return err
		}
	}
	for i, s := range append(sections[:len(sections):len(sections)], methods.Section(m.Run, true, sections...)) {
		meta := m
		if i == len(sections) {
			meta = Meta{} // what was run is no result
		}
		for _, t := range s.Tables {
			if err := put(func(w io.Writer) error { return CSV(w, t, meta) }, "tables", t.Name+".csv"); err != nil {
				return err
			}
			if err := put(func(w io.Writer) error { return LaTeX(w, t, meta) }, "tables", t.Name+".tex"); err != nil {
				return err
			}
		}
		for _, f := range s.Figures {
			if err := writeFigure(put, visibleFigure(f), m); err != nil {
				return err
			}
		}
	}
	return put(func(w io.Writer) error { return LaTeXMethods(w, m, sections...) }, "tables", "methods.tex")
}

func writeFigure(put func(func(io.Writer) error, ...string) error, f results.Figure, m Meta) error {
	if figure.Empty(f) {
		return nil
	}
	look := figure.Look{Width: figure.Wide, Made: m.Manifest.Created}
	look.Mark = m.figureMark()
	for _, d := range []struct {
		end  string
		draw func(io.Writer, results.Figure, figure.Look) error
	}{{".svg", figure.SVG}, {".pdf", figure.PDF}, {".png", figure.PNG}} {
		if err := put(func(w io.Writer) error { return d.draw(w, f, look) }, "figures", f.Name+d.end); err != nil {
			return err
		}
	}
	return nil
}

// writeFile replaces a file by what write gives; an error leaves the old one.
func writeFile(path string, write func(io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	_, err = f.Write(b.Bytes())
	if err = errors.Join(err, f.Chmod(0o600), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
