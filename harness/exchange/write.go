package exchange

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"assay/results"
)

// Write writes the table in one of Formats to the file at path, which comes
// into being whole or not at all; "-" is out, and a pipe or a device is written to. It says on notes how far it is when it
// takes long, and returns the number of rows.
func (t Table) Write(ctx context.Context, format, path string, out, notes io.Writer) (rows int, err error) {
	if path == "-" {
		return t.write(ctx, format, out, notes)
	}
	path, open, err := results.Target(path)
	if err != nil {
		return 0, err
	}
	if open {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return 0, err
		}
		rows, err = t.write(ctx, format, f, notes)
		return rows, errors.Join(err, f.Close())
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".part*")
	if err != nil {
		return 0, err
	}
	rows, err = t.write(ctx, format, f, notes)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return 0, errors.Join(err, os.Remove(f.Name()))
	}
	return rows, nil
}

// Used is the table without columns that have no value in any row, and without those that say
// in every row what another says (results.FileColumn.Like). The rows are read once for it.
func (t Table) Used(ctx context.Context) (Table, error) {
	like := make([]int, len(t.Columns))
	for i, c := range t.Columns {
		like[i] = slices.IndexFunc(t.Columns, func(o results.FileColumn) bool { return c.Like != "" && o.Name == c.Like })
	}
	used := make([]bool, len(t.Columns))
	err := t.Rows(func(row []any) error {
		for i, v := range row {
			used[i] = used[i] || v != nil && (like[i] < 0 || v != row[like[i]])
		}
		return ctx.Err()
	})
	var at []int
	for i := range t.Columns {
		if used[i] {
			at = append(at, i)
		}
	}
	return t.at(at), err
}

// Only is the table with these columns alone, in this order.
func (t Table) Only(names []string) (Table, error) {
	var at []int
	for _, name := range names {
		i := slices.IndexFunc(t.Columns, func(c results.FileColumn) bool { return c.Name == name })
		if i < 0 {
			return t, fmt.Errorf("expected names of columns, found %q", name)
		}
		at = append(at, i)
	}
	return t.at(at), nil
}

// at is the table of some of its columns.
func (t Table) at(at []int) Table {
	var cols []results.FileColumn
	for _, i := range at {
		cols = append(cols, t.Columns[i])
	}
	return Table{cols, func(visit func(row []any) error) error {
		few := make([]any, len(at))
		return t.Rows(func(row []any) error {
			for i, from := range at {
				few[i] = row[from]
			}
			return visit(few)
		})
	}}
}

func (t Table) write(ctx context.Context, format string, w, notes io.Writer) (n int, err error) {
	const every = 5 * time.Second
	buf := bufio.NewWriterSize(w, 1<<16)
	file, err := newWriter(format, buf, t.Columns)
	if err != nil {
		return 0, err
	}
	last := time.Now()
	err = t.Rows(func(row []any) error {
		if n++; n%1000 == 0 && time.Since(last) >= every {
			fmt.Fprintf(notes, "%d rows written\n", n)
			last = time.Now()
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		return file.Write(row)
	})
	if err == nil {
		err = file.Close()
	}
	if err == nil {
		err = buf.Flush()
	}
	return n, err
}
